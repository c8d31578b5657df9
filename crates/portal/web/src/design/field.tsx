// A question with its answer: label above, hint and what is wrong below, tied together for a screen reader. The same
// frame serves text, choice and yes/no.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface Frame {
  label: string;
  hint?: ComponentChildren;
  /** What is wrong with the answer. */
  error?: string;
}

function Framed({ label, hint, error, id, children }: Frame & { id: string; children: ComponentChildren }) {
  return (
    <div class={error ? "field wrong" : "field"}>
      <label for={id}>{label}</label>
      {children}
      {hint && !error && (
        <p class="hint" id={`${id}-note`}>
          {hint}
        </p>
      )}
      {error && (
        <p class="error" id={`${id}-note`}>
          {error}
        </p>
      )}
    </div>
  );
}

function described(id: string, { hint, error }: Frame) {
  return { id, "aria-describedby": hint || error ? `${id}-note` : undefined, "aria-invalid": error ? true : undefined };
}

interface TextProps extends Frame {
  value: string;
  onValue: (value: string) => void;
  type?: "text" | "email" | "password" | "number" | "date" | "url";
  /** Shown at the end of the field: "bpm". */
  unit?: string;
  name?: string;
  autocomplete?: string;
  autofocus?: boolean;
  disabled?: boolean;
  inputMode?: "numeric" | "decimal";
  list?: string;
  max?: string | number;
  maxLength?: number;
  min?: string | number;
  minLength?: number;
  pattern?: string;
  placeholder?: string;
  required?: boolean;
  spellcheck?: boolean;
  step?: string | number;
}

/** One line of text, a number, a date or a password: whatever `type` says. */
export function TextField({ label, hint, error, value, onValue, unit, ...rest }: TextProps) {
  const id = useId();
  const input = (
    <input
      {...(rest as object)}
      {...described(id, { label, hint, error })}
      value={value}
      onInput={(event) => onValue(event.currentTarget.value)}
    />
  );
  return (
    <Framed label={label} hint={hint} error={error} id={id}>
      {unit ? (
        <span class="with-unit">
          {input}
          <span class="unit">{unit}</span>
        </span>
      ) : (
        input
      )}
    </Framed>
  );
}

/** A time of day on the 24-hour clock. The browser's own field follows its language, which may have another one. */
export function ClockField(props: Pick<TextProps, "label" | "value" | "onValue" | "error">) {
  return (
    <TextField
      {...props}
      inputMode="numeric"
      required
      maxLength={5}
      placeholder="00:00"
      pattern="([01]?[0-9]|2[0-3]):[0-5][0-9]"
    />
  );
}

type AreaProps = Frame & { value: string; onValue: (value: string) => void; rows?: number; placeholder?: string };

export function TextArea({ label, hint, error, value, onValue, ...rest }: AreaProps) {
  const id = useId();
  return (
    <Framed label={label} hint={hint} error={error} id={id}>
      <textarea
        {...rest}
        {...described(id, { label, hint, error })}
        value={value}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
    </Framed>
  );
}

export interface Choice {
  value: string;
  text: string;
}

type SelectProps = Frame & { value: string; onValue: (value: string) => void; choices: Choice[]; disabled?: boolean };

export function SelectField({ label, hint, error, value, onValue, choices, disabled }: SelectProps) {
  const id = useId();
  return (
    <Framed label={label} hint={hint} error={error} id={id}>
      <select
        {...described(id, { label, hint, error })}
        disabled={disabled}
        value={value}
        onChange={(event) => onValue(event.currentTarget.value)}
      >
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.text}
          </option>
        ))}
      </select>
    </Framed>
  );
}

type CheckProps = {
  label: ComponentChildren;
  hint?: ComponentChildren;
  checked: boolean;
  onChecked: (checked: boolean) => void;
  disabled?: boolean;
};

export function CheckField({ label, hint, checked, onChecked, disabled }: CheckProps) {
  const id = useId();
  return (
    <div class="check">
      <input
        type="checkbox"
        id={id}
        checked={checked}
        disabled={disabled}
        aria-describedby={hint ? `${id}-note` : undefined}
        onChange={(event) => onChecked(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      {hint && (
        <p class="hint" id={`${id}-note`}>
          {hint}
        </p>
      )}
    </div>
  );
}

/** Several yes/no answers to one question. */
export function CheckGroup({
  label,
  hint,
  choices,
  chosen,
  onChosen,
}: {
  label: string;
  hint?: string;
  choices: Choice[];
  chosen: string[];
  onChosen: (chosen: string[]) => void;
}) {
  // In the order of the choices and not of the clicks: what is sent and remembered does not depend on who clicked first.
  const toggle = (value: string) =>
    onChosen(choices.map((choice) => choice.value).filter((one) => (one === value) !== chosen.includes(one)));
  return (
    <fieldset class="field">
      <legend>{label}</legend>
      <div class="checks">
        {choices.map((choice) => (
          <CheckField
            key={choice.value}
            label={choice.text}
            checked={chosen.includes(choice.value)}
            onChecked={() => toggle(choice.value)}
          />
        ))}
      </div>
      {hint && <p class="hint">{hint}</p>}
    </fieldset>
  );
}
