// Small parts that all views use: buttons, switches, and what is shown where there is nothing to show.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { AnswerError } from "../source/source.ts";
import { useApp } from "../state/hooks.ts";

interface ButtonProps {
  children: ComponentChildren;
  onClick: () => void;
  /** What it does, where its text alone does not say. */
  label?: string;
  pressed?: boolean;
  disabled?: boolean;
  kind?: "plain" | "primary" | "link";
}

/** What is heard in place of a button's text: the label, if it has that text in it or there are no words to hear. */
function heard(children: ComponentChildren, label: string | undefined): string | undefined {
  if (typeof children !== "string" || !/[a-z]/i.test(children)) return label;
  return label?.toLowerCase().includes(children.toLowerCase()) ? label : undefined;
}

export function Button({ children, onClick, label, pressed, disabled = false, kind = "plain" }: ButtonProps) {
  return (
    <button
      type="button"
      class={`button ${kind}`}
      aria-label={heard(children, label)}
      title={label}
      aria-pressed={pressed}
      disabled={disabled}
      onClick={onClick}
    >
      {children}
    </button>
  );
}

interface PickProps<T extends string> {
  label: string;
  value: T;
  options: readonly (readonly [value: T, text: string])[];
  onPick: (value: T) => void;
}

/** One of a few, all in sight: radio buttons drawn as a row. */
export function Pick<T extends string>({ label, value, options, onPick }: PickProps<T>) {
  const name = useId();
  return (
    <fieldset class="pick">
      <legend class="heard">{label}</legend>
      {options.map(([each, text]) => (
        <label key={each}>
          <input
            type="radio"
            class="heard"
            name={name}
            checked={each === value}
            onChange={() => onPick(each)}
          />
          <span>{text}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** One of several, in a list that opens. */
export function Menu<T extends string>({ label, value, options, onPick }: PickProps<T>) {
  return (
    <label class="menu">
      <span class="quiet">{label}</span>
      <select value={value} onChange={(event) => onPick(event.currentTarget.value as T)}>
        {options.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

interface TickProps {
  label: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
  title?: string;
}

export function Tick({ label, checked, onChange, title }: TickProps) {
  return (
    <label class="tick" title={title}>
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
      {label}
    </label>
  );
}

interface BlankProps {
  title: string;
  children?: ComponentChildren;
  kind?: "empty" | "error";
}

/** Stands where a view has nothing to show, and says what to do. */
export function Blank({ title, children, kind = "empty" }: BlankProps) {
  return (
    <div class={`blank ${kind}`} role={kind === "error" ? "alert" : undefined}>
      <h2>{title}</h2>
      {children && <div class="quiet">{children}</div>}
    </div>
  );
}

/** What went wrong with a question, in the server's words. */
export function Failure({ error, what }: { error: Error; what: string }) {
  const { source } = useApp();
  if (!source.live && error instanceof AnswerError)
    return (
      <Blank title={`${what} is not in this page`}>
        <p>{error.message}</p>
      </Blank>
    );
  return (
    <Blank kind="error" title={`${what} could not be shown`}>
      <p>{error.message}</p>
    </Blank>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <p class="blank quiet" role="status">
      {what}…
    </p>
  );
}

/** A name and its value, one above the other in a list of such pairs. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
