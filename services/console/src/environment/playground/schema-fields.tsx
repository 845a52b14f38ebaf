/** The form of a JSON schema: fields that change one value. Errors are beside their fields. */
import { type ReactNode, useState } from "react";
import { Button, CheckField, ChoiceField, TextArea, TextField } from "../../kit/index.js";
import { exampleOfPart } from "../schema/example.js";
import { listOf, recordOf } from "../schema/json-schema.js";
import { fieldPath, itemPath } from "../schema/validate.js";
import { type Variant, variantAt } from "../schema/variants.js";
import { type FieldShape, type FormFieldKind, fieldShape, withField, withItem } from "./schema-form.js";
import { type CommonProps, JsonField, NumberField, PickField } from "./value-fields.js";

interface SchemaFieldsProps {
  readonly root: unknown;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  /** Errors by path. */
  readonly problems: ReadonlyMap<string, string>;
}

export function SchemaFields({ root, value, onChange, problems }: SchemaFieldsProps) {
  return <Field part={root} name="Value" path="" isRequired depth={0} {...{ root, value, onChange, problems }} />;
}

interface FieldProps extends SchemaFieldsProps {
  readonly part: unknown;
  readonly name: string;
  readonly path: string;
  readonly isRequired: boolean;
  readonly depth: number;
  /** Whether the part is a variant of a union, which provides its frame and its name. */
  readonly isVariant?: boolean;
}

function Field(props: FieldProps) {
  const { part, root, depth, value, isRequired, onChange, name } = props;
  const shape = fieldShape(part, root, depth);
  const isNull = value === null && shape.isNullable;
  const isAbsentCompound = value === undefined && isCompound(shape.field) && depth > 0;
  return (
    <div className="playground__field">
      {isAbsentCompound ? (
        <div className="row">
          <span>{labelOf(props, shape)}</span>
          <Button isSmall onClick={() => onChange(exampleOfPart(part, root))} aria-label={`Add ${name}`}>
            Add
          </Button>
          <span className="quiet small">{shape.description}</span>
        </div>
      ) : isNull ? (
        <span>{labelOf(props, shape)}: null</span>
      ) : (
        <Input {...props} shape={shape} />
      )}
      {(shape.isNullable || (isCompound(shape.field) && !isRequired && !isAbsentCompound)) && (
        <div className="row">
          {shape.isNullable && (
            <CheckField
              label={
                <>
                  null<span className="visually-hidden"> for {name}</span>
                </>
              }
              isOn={isNull}
              onChange={(isOn) => onChange(isOn ? null : notNull(part, root))}
            />
          )}
          {isCompound(shape.field) && !isRequired && value !== undefined && (
            <Button isSmall appearance="bare" onClick={() => onChange(undefined)} aria-label={`Remove ${name}`}>
              Remove
            </Button>
          )}
        </div>
      )}
    </div>
  );
}

const isCompound = ({ kind }: FormFieldKind): boolean => ["list", "group", "variant", "json"].includes(kind);

/** Something to begin with that is not null. */
function notNull(part: unknown, root: unknown): unknown {
  const { field } = fieldShape(part, root);
  switch (field.kind) {
    case "text":
      return "";
    case "number":
      return 0;
    case "yesNo":
      return false;
    case "choice":
      return field.values[0];
    case "list":
      return [];
    case "variant":
      return exampleOfPart(field.variants[0]?.part, root);
    default:
      return {};
  }
}

function labelOf({ name, isRequired }: FieldProps, { title }: FieldShape): string {
  return `${title ?? name}${isRequired ? "" : " (optional)"}`;
}

function hintOf({ description, formatText, defaultText }: FieldShape): ReactNode {
  const parts = [description, formatText, defaultText].filter((each) => each !== undefined);
  return parts.length === 0 ? undefined : parts.join(" · ");
}

function Input(props: FieldProps & { readonly shape: FieldShape }) {
  const { shape, value, onChange, isRequired, path, problems } = props;
  const label = labelOf(props, shape);
  const common = { label, hint: hintOf(shape), problem: problems.get(path) };
  const { field } = shape;
  switch (field.kind) {
    case "text": {
      const text = typeof value === "string" ? value : "";
      // An optional text that is emptied is one that is not there.
      const change = (next: string) => onChange(next === "" && !isRequired ? undefined : next);
      return field.isLong ? (
        <TextArea {...common} value={text} onChange={change} rows={3} />
      ) : (
        <TextField {...common} value={text} onChange={change} />
      );
    }
    case "number":
      return <NumberField {...common} value={value} onChange={onChange} />;
    case "yesNo":
      return isRequired ? (
        <CheckField label={label} isOn={value === true} onChange={onChange} />
      ) : (
        <PickField {...common} values={[true, false]} value={value} onChange={onChange} isOptional />
      );
    case "choice":
      return <PickField {...common} values={field.values} value={value} onChange={onChange} isOptional={!isRequired} />;
    case "list":
      return <ListField {...props} item={field.item} {...common} />;
    case "variant":
      return <VariantField {...props} variants={field.variants} {...common} />;
    case "group":
      return <GroupField {...props} parts={field.parts} {...common} />;
    default:
      return <JsonField {...common} value={value} onChange={onChange} isOptional={!isRequired} typeText={shape.typeText} />;
  }
}

function ListField(props: FieldProps & CommonProps & { readonly item: unknown }) {
  const { item, root, value, onChange, path, depth, problems, name, label, hint, problem } = props;
  const items = listOf(value);
  return (
    <fieldset className="playground__group">
      <legend>{label}</legend>
      {hint !== undefined && <p className="quiet small">{hint}</p>}
      {problem !== undefined && <Problem text={problem} />}
      {items.map((each, i) => (
        // Items have no name of their own.
        // biome-ignore lint/suspicious/noArrayIndexKey: see above
        <div key={i} className="playground__item">
          <Field
            part={item}
            name={`${name} ${i + 1}`}
            path={itemPath(path, i)}
            isRequired
            depth={depth + 1}
            {...{ root, problems }}
            value={each}
            onChange={(next) => onChange(withItem(value, i, next ?? null))}
          />
          <Button
            isSmall
            appearance="bare"
            onClick={() => onChange(withItem(value, i, undefined))}
            aria-label={`Remove ${name} ${i + 1}`}
          >
            Remove
          </Button>
        </div>
      ))}
      <div>
        <Button isSmall onClick={() => onChange([...items, exampleOfPart(item, root)])} aria-label={`Add to ${name}`}>
          Add
        </Button>
      </div>
    </fieldset>
  );
}

function GroupField(props: FieldProps & CommonProps & { readonly parts: (FormFieldKind & { kind: "group" })["parts"] }) {
  const { parts, root, value, onChange, path, depth, problems, label, hint, problem, isVariant } = props;
  const fields = parts.map(({ name, part, isRequired }) => (
    <Field
      key={name}
      part={part}
      name={name}
      path={fieldPath(path, name)}
      isRequired={isRequired}
      depth={depth + 1}
      {...{ root, problems }}
      value={recordOf(value)[name]}
      onChange={(next) => onChange(withField(value, name, next))}
    />
  ));
  if (depth === 0 || isVariant) {
    return (
      <div className={isVariant ? "playground__variant" : "stack"}>
        {problem !== undefined && <Problem text={problem} />}
        {fields}
      </div>
    );
  }
  return (
    <fieldset className="playground__group">
      <legend>{label}</legend>
      {hint !== undefined && <p className="quiet small">{hint}</p>}
      {problem !== undefined && <Problem text={problem} />}
      {fields}
    </fieldset>
  );
}

function VariantField(props: FieldProps & CommonProps & { readonly variants: readonly Variant[] }) {
  const { variants, root, value, onChange, depth, name, label, hint, problems, path, isVariant } = props;
  const [chosen, setChosen] = useState<number>();
  const at = variantAt(value, variants, root, chosen);
  const choose = (next: number) => {
    setChosen(next);
    onChange(exampleOfPart(variants[next]?.part, root));
  };
  const fields = (
    <>
      {hint !== undefined && <p className="quiet small">{hint}</p>}
      <ChoiceField
        label={depth === 0 ? "Variant" : `Variant of ${name}`}
        value={String(at)}
        choices={variants.map((variant, i) => ({ value: String(i), label: variant.label }))}
        onChange={(next) => choose(Number(next))}
      />
      <Field
        key={at}
        part={variants[at]?.part}
        name={name}
        path={path}
        isRequired
        isVariant
        depth={depth + 1}
        {...{ root, value, onChange, problems }}
      />
    </>
  );
  if (depth === 0 || isVariant) return <div className="stack">{fields}</div>;
  return (
    <fieldset className="playground__group">
      <legend>{label}</legend>
      {fields}
    </fieldset>
  );
}

function Problem({ text }: { readonly text: string }) {
  return (
    <p className="field__problem small" role="alert">
      {text}
    </p>
  );
}
