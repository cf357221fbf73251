// SPDX-License-Identifier: MIT
/**
 * filters: those of a list, in the address bar, and kept for the next visit of the page.
 *
 *   const { values, set, reset, active } = useFilters('jobs', { text: textField(), group: numberField() })
 *   set({ group: 3 })
 *
 * The address bar is the truth: links to the page with a query are its filters; without one the last ones come back.
 */
import { computed, watch } from 'vue'
import { useRoute, useRouter } from 'vue-router'
import { initialValues, readQuery, writeQuery, type Fields, type Query } from '@/model/filters'

export function useFilters<V extends object>(name: string, fields: Fields<V>) {
  const route = useRoute()
  const router = useRouter()
  const key = `sw.filters.${name}`
  const home = route.name

  const values = computed<V>(() => readQuery(fields, route.query as Query))
  const active = computed(() => Object.keys(writeQuery(fields, values.value)).length)

  function put(next: V): void {
    if (route.name !== home) return
    const query = writeQuery(fields, next)
    sessionStorage.setItem(key, JSON.stringify(query))
    const others = Object.entries(route.query).filter(([k]) => !(k in fields))
    void router.replace({ query: { ...Object.fromEntries(others), ...query }, hash: route.hash })
  }

  function set(changes: Partial<V>): void {
    put({ ...values.value, ...changes })
  }

  const kept = sessionStorage.getItem(key)
  if (kept && Object.keys(route.query).length === 0) {
    const query = JSON.parse(kept) as Record<string, string>
    if (Object.keys(query).length) void router.replace({ query, hash: route.hash })
  } else if (active.value) {
    sessionStorage.setItem(key, JSON.stringify(writeQuery(fields, values.value)))
  }

  /** Links change them, too. */
  watch(
    () => route.query,
    () => route.name === home && sessionStorage.setItem(key, JSON.stringify(writeQuery(fields, values.value))),
  )

  return { values, set, reset: () => put(initialValues(fields)), active }
}
