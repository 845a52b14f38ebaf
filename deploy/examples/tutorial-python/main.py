import asyncio
import os

import restate
from hypercorn.asyncio import serve
from hypercorn.config import Config

from greeter import greeter
from order import order

app = restate.app([greeter, order])

if __name__ == "__main__":
    config = Config()
    config.bind = [f"127.0.0.1:{os.environ.get('PORT', '9080')}"]
    asyncio.run(serve(app, config))
