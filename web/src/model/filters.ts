// SPDX-License-Identifier: MIT
/**
 * filters: what a list is narrowed to, as it stands in the address bar. A field says how a value is written; what is
 * at its default is not written, and what cannot be read is the default. Pure.
 */
export interface Field<T> {
  initial: T
  read: (text: string) => T | undefined
  write: (value: T) => string
}

export const textField = (initial = ''): Field<string> => ({ initial, read: (s) => s, write: (v) => v })

export const numberField = (): Field<number | undefined> => ({
  initial: undefined,
  read: (s) => (/^\d{1,15}$/.test(s) ? Number(s) : undefined),
  write: (v) => (v === undefined ? '' : String(v)),
})

export const flagField = (): Field<boolean | undefined> => ({
  initial: undefined,
  read: (s) => (s === 'yes' ? true : s === 'no' ? false : undefined),
  write: (v) => (v === undefined ? '' : v ? 'yes' : 'no'),
})

export const choiceField = <T extends string>(choices: readonly T[], initial: T): Field<T> => ({
  initial,
  read: (s) => choices.find((c) => c === s),
  write: (v) => v,
})

export type Fields<V> = { [K in keyof V]: Field<V[K]> }
export type Query = Record<string, string | null | (string | null)[] | undefined>

function namesOf<V>(fields: Fields<V>): (keyof V & string)[] {
  return Object.keys(fields) as (keyof V & string)[]
}

export function initialValues<V extends object>(fields: Fields<V>): V {
  const values = {} as V
  for (const name of namesOf(fields)) values[name] = fields[name].initial
  return values
}

export function readQuery<V extends object>(fields: Fields<V>, query: Query): V {
  const values = initialValues(fields)
  for (const name of namesOf(fields)) {
    const raw = query[name]
    const text = Array.isArray(raw) ? raw[0] : raw
    if (typeof text === 'string') values[name] = fields[name].read(text) ?? fields[name].initial
  }
  return values
}

export function writeQuery<V extends object>(fields: Fields<V>, values: V): Record<string, string> {
  const query: Record<string, string> = {}
  for (const name of namesOf(fields)) {
    if (values[name] !== fields[name].initial) query[name] = fields[name].write(values[name])
  }
  return query
}
