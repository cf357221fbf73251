// SPDX-License-Identifier: MIT
/**
 * useFlowEditor: the flow that is edited. Graph, forms and text are three views of one document; each change of any of
 * them goes through `change`, can be undone, and is checked here and by the server while one types.
 */
import { useQuery } from '@tanstack/vue-query'
import { computed, inject, onScopeDispose, provide, ref, shallowRef, watch, type InjectionKey } from 'vue'
import { groupFaults, type Fault } from './faults'
import { ApiError } from '@/api/client'
import { flowsApi, type WholeFlow } from '@/api/flows'
import { queryClient } from '@/api/query'
import { checkFlow } from '@/model/flow/check'
import { emptyFlow, formatFlow, isFlow, NAME, stepsOf, type FlowDocument } from '@/model/flow/document'
import { record, redo, startHistory, undo } from '@/model/flow/history'
import { placesOf } from '@/model/flow/json-places'

const WAIT_MS = 400

/** What the editor begins with. */
type Found = Pick<WholeFlow, 'document'> & Partial<WholeFlow>

/** `ofJob`: a new flow out of that job and its child jobs. */
export function useFlowEditor(id: number | undefined, copyOf?: number, ofJob?: number) {
  const source = id ?? copyOf ?? ofJob
  const query = useQuery({
    queryKey: ['flow-editor', id ?? copyOf, ofJob],
    queryFn: ({ signal }): Promise<Found> =>
      ofJob === undefined ? flowsApi.get(source!, signal) : flowsApi.ofChildren(ofJob, signal),
    enabled: source !== undefined,
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
  })

  const history = shallowRef(startHistory(emptyFlow()))
  const flow = computed(() => history.value.now)
  /** As it was typed in the text, where that is how the flow looks; else undefined, and the flow is written anew. */
  const typed = ref<string>()
  const base = shallowRef<{ text: string; version: number }>()
  const isReady = ref(source === undefined)
  const chosen = ref<string>()
  const busy = ref(false)
  const error = shallowRef<unknown>()
  /** Somebody else has saved meanwhile. */
  const newer = shallowRef<WholeFlow>()

  function begin(found: Found): void {
    const isCopy = copyOf !== undefined
    const document = isCopy ? { ...found.document, name: `${found.document.name}-copy` } : found.document
    history.value = startHistory(document)
    base.value =
      found.version === undefined || isCopy ? undefined : { text: formatFlow(document), version: found.version }
    typed.value = undefined
    newer.value = error.value = undefined
    isReady.value = true
  }
  watch(() => query.data.value, (found) => found && !isReady.value && begin(found), { immediate: true })

  /** `kind`: changes of one kind that follow closely are undone together. */
  function change(next: FlowDocument, kind?: string): void {
    history.value = record(history.value, next, Date.now(), kind)
    typed.value = undefined
  }

  /* ---- as text ---- */

  const written = computed(() => formatFlow(flow.value))
  const text = computed(() => typed.value ?? written.value)
  const places = computed(() => placesOf(text.value))
  /** Why the text is no flow; the other views show the last one that was. */
  const isBroken = computed(() => typed.value !== undefined && readText(typed.value) === undefined)

  function readText(value: string): FlowDocument | undefined {
    try {
      const read: unknown = JSON.parse(value)
      return isFlow(read) ? { ...read, steps: read.steps ?? [] } : undefined
    } catch {
      return undefined
    }
  }
  function type(value: string): void {
    if (value === text.value) return
    const read = readText(value)
    if (read && JSON.stringify(read) !== JSON.stringify(flow.value)) change(read, 'text')
    typed.value = value
  }

  function back(): void {
    history.value = undo(history.value)
    typed.value = undefined
  }
  function again(): void {
    history.value = redo(history.value)
    typed.value = undefined
  }

  watch(flow, (now) => {
    if (chosen.value !== undefined && !stepsOf(now).some((s) => s.name === chosen.value)) chosen.value = undefined
  })

  /* ---- faults ---- */

  const local = computed(() => checkFlow(flow.value))
  const asked = shallowRef(flow.value)
  let timer: ReturnType<typeof setTimeout> | undefined
  watch(flow, (now) => {
    clearTimeout(timer)
    timer = setTimeout(() => (asked.value = now), WAIT_MS)
  })
  onScopeDispose(() => clearTimeout(timer))
  const verdict = useQuery({
    queryKey: computed(() => ['flow-verdict', JSON.stringify(asked.value)]),
    queryFn: ({ signal }) => flowsApi.validate(asked.value, signal),
    enabled: () => isReady.value && stepsOf(asked.value).length > 0,
    gcTime: 10_000,
    staleTime: 30_000,
    retry: false,
  })
  const refused = ref<{ flow: FlowDocument; faults: { where: string; text: string }[] }>()
  const faults = computed<Fault[]>(() => {
    const server = asked.value === flow.value ? (verdict.data.value?.faults ?? []) : []
    const also = refused.value?.flow === flow.value ? refused.value.faults : []
    return groupFaults(local.value, [...server, ...also])
  })
  const isChecking = computed(() => asked.value !== flow.value || verdict.isFetching.value)
  /** What is wrong at a place, or below it. */
  const faultAt = (where: string): Fault | undefined => faults.value.find((f) => f.where === where)
  const isWrong = (where: string): boolean =>
    faults.value.some((f) => !f.mild && (f.where === where || f.where.startsWith(`${where}/`)))

  /* ---- saving ---- */

  const isDirty = computed(() => isReady.value && (isBroken.value || written.value !== (base.value?.text ?? formatFlow(emptyFlow()))))
  /** A flow of groups that one may not change is shown. */
  const mayChange = computed(() => id === undefined || query.data.value?.canChange !== false)
  const canSave = computed(() => mayChange.value && NAME.test(flow.value.name ?? '') && !isBroken.value)

  /** The id of what is saved; undefined: `error`, `newer` or `faults` say why not. */
  async function save(): Promise<number | undefined> {
    if (busy.value) return undefined
    busy.value = true
    error.value = undefined
    const sent = flow.value
    try {
      const saved = id === undefined ? await flowsApi.add(sent) : await flowsApi.save(id, sent, base.value!.version)
      base.value = { text: formatFlow(sent), version: saved.version }
      for (const key of ['flows', 'flow']) void queryClient.invalidateQueries({ queryKey: [key] })
      return saved.id
    } catch (e) {
      await explain(e, sent)
      return undefined
    } finally {
      busy.value = false
    }
  }

  async function explain(e: unknown, sent: FlowDocument): Promise<void> {
    error.value = e
    if (!(e instanceof ApiError)) return
    const told = (e.problem as { faults?: { where: string; text: string }[] }).faults
    if (told) refused.value = { flow: sent, faults: told }
    if ((e.status !== 409 && e.status !== 412) || id === undefined) return
    const now = await flowsApi.get(id).catch(() => undefined)
    if (now && now.version !== base.value?.version) newer.value = now
  }

  /** What stands here is to be saved over what somebody else has saved. */
  function keepMine(): void {
    if (newer.value) base.value = { text: formatFlow(newer.value.document), version: newer.value.version }
    newer.value = error.value = undefined
  }
  function takeTheirs(): void {
    if (newer.value) begin(newer.value)
  }

  // prettier-ignore
  return {
    again, back, base, busy, canSave, change, chosen, error, faultAt, faults, flow, history, isBroken, isChecking,
    isDirty, isReady, isWrong, keepMine, mayChange, newer, places, query, save, takeTheirs, text, type, written,
  }
}

export type FlowEditor = ReturnType<typeof useFlowEditor>
const KEY: InjectionKey<FlowEditor> = Symbol('flow-editor')
export const provideFlowEditor = (editor: FlowEditor): void => provide(KEY, editor)
export const useEditedFlow = (): FlowEditor => inject(KEY)!
