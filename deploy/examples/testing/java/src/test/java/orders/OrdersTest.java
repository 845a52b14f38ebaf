package orders;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class OrdersTest {
  @RegisterExtension static final Perdure perdure = new Perdure(new Orders());

  @Test
  void remindsAfterThreeDays() throws Exception {
    String order = submit("o-1");
    perdure.advance(71);
    assertEquals(List.of("reserve", "sleep 3d"), perdure.steps(order));
    perdure.advance(1);
    assertEquals(List.of("reserve", "sleep 3d", "remind"), perdure.steps(order));
  }

  @Test
  void repeatsAStepThatCrashedBeforeItWasAcknowledged() throws Exception {
    String crash = perdure.crashAt("reserve", "before-ack");
    String order = submit("o-2");
    perdure.advance(96);
    assertEquals(1, perdure.hits(crash));
    assertEquals(List.of("reserve", "sleep 3d", "remind"), perdure.steps(order));
  }

  private static String submit(String key) throws Exception {
    JsonNode answer = perdure.request("POST", perdure.ingress() + "/Orders/" + key + "/run/send", "3");
    return answer.get("invocationId").asText();
  }
}
