// Questions in the one form that an exported page knows them by: parameters in alphabetical order, what is
// not given left out.

type Value = string | number | boolean | null | undefined;

/** what with its parameters: false, null and "" are left out, true is 1. */
export function question(what: string, params: Record<string, Value>): string {
  const parts = Object.keys(params)
    .sort()
    .flatMap((name) => {
      const value = params[name];
      if (value === undefined || value === null || value === false || value === "") return [];
      return [`${name}=${encodeURIComponent(value === true ? 1 : value)}`];
    });
  return parts.length === 0 ? what : `${what}?${parts.join("&")}`;
}
