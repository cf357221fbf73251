// SPDX-License-Identifier: MIT
/** useEditor: what the drawer edits: loads it, watches for what others change, saves it. */
import { useQuery } from '@tanstack/vue-query'
import { computed, ref, shallowRef, watch } from 'vue'
import { api, ApiError, ask, askTagged, type Schemas } from '@/api/client'
import { POLL, queryClient } from '@/api/query'
import { useSession } from '@/composables/session'
import { translate } from '@/i18n'
import {
  changeOf,
  changedFields,
  fieldOfProblem,
  formOf,
  judge,
  merge,
  newForm,
  newJobOf,
  theirChanges,
  type SettingField,
  type Job,
  type JobForm,
} from './form'
import type { EditorTarget } from './useJobEditor'

interface Loaded {
  job: Job
  etag: string
}

async function loadJob(id: number): Promise<Loaded> {
  const { data, etag } = await askTagged(() => api.GET('/api/v1/jobs/{id}', { params: { path: { id } } }))
  return { job: data, etag }
}

/** The newest change of the job that the audit knows; null: it was made past us. */
async function loadChange(id: number): Promise<Schemas['AuditRow'] | null> {
  const page = await ask(() =>
    api.GET('/api/v1/jobs/{id}/changes', { params: { path: { id }, query: { limit: 5 } } }),
  )
  return page.items.find((row) => !/trigger|later/.test(row.action)) ?? null
}

export function useEditor(target: EditorTarget) {
  const { user } = useSession()
  const id = ref('id' in target ? target.id : undefined)
  /** It was deleted while it was edited, and is to be made anew: no copy of one that is there. */
  const isOrphan = ref(false)
  const source = 'id' in target ? target.id : 'copyOf' in target ? target.copyOf : undefined
  const base = shallowRef<JobForm>()
  const form = ref<JobForm>()
  const etag = ref('')
  const running = ref(false)
  /** Id of the newest change that was known when the job was read. */
  const seen = ref(0)
  const busy = ref(false)
  const error = shallowRef<unknown>()
  const refused = ref(false)
  const takeTheirs = ref<SettingField[]>([])
  /** Faults are shown from the first try to save on. */
  const tried = ref(false)

  const query = useQuery({
    queryKey: ['job-editor', source],
    queryFn: () => loadJob(source!),
    enabled: computed(() => source !== undefined && !busy.value),
    refetchInterval: () => (id.value === undefined ? false : POLL.list),
    gcTime: 0,
    staleTime: 0,
  })

  function begin(next: JobForm, loaded?: Loaded): void {
    base.value = next
    form.value = { ...next, tags: [...next.tags] }
    etag.value = loaded?.etag ?? ''
    running.value = loaded?.job.running ?? false
    if (loaded) void loadChange(loaded.job.id).then((row) => (seen.value = row?.id ?? 0), () => undefined)
  }

  function beginCopy(job: Job): void {
    const copy = { ...formOf(job), name: translate('editor.copyName', { name: job.name ?? '' }) }
    begin({ ...copy, author: user.value?.username ?? copy.author })
  }

  if (source === undefined) begin(newForm(user.value?.username ?? '', 'group' in target ? target.group : undefined))
  watch(
    () => query.data.value,
    (loaded) => {
      if (!loaded || base.value) return
      if (id.value === undefined) beginCopy(loaded.job)
      else begin(formOf(loaded.job), loaded)
    },
    { immediate: true },
  )

  const isDirty = computed(
    () =>
      !!base.value &&
      !!form.value &&
      (changedFields(base.value, form.value).length > 0 ||
        form.value.glueType !== base.value.glueType ||
        (id.value === undefined && form.value.glueSource !== base.value.glueSource)),
  )
  const faults = computed(() => (form.value ? judge(form.value) : {}))

  /* ---- somebody else ---- */

  const newer = computed(() => {
    const loaded = query.data.value
    return id.value !== undefined && loaded && etag.value && loaded.etag !== etag.value ? loaded : undefined
  })
  const removed = computed(
    () => id.value !== undefined && query.error.value instanceof ApiError && query.error.value.status === 404,
  )
  const differences = computed(() =>
    newer.value && base.value && form.value ? theirChanges(base.value, formOf(newer.value.job), form.value) : [],
  )
  const hasConflict = computed(() => differences.value.some((d) => d.mine !== undefined))
  const change = useQuery({
    queryKey: computed(() => ['job-editor', 'change', source, newer.value?.etag ?? '']),
    queryFn: () => loadChange(source!),
    enabled: computed(() => newer.value !== undefined),
    staleTime: Infinity,
  })

  /** Who it was; null: nobody knows. */
  const changedBy = computed(() => {
    const row = change.data.value
    return row && row.id > seen.value ? row : null
  })

  /** Their changes come in; of what both changed, what was chosen. */
  function accept(): void {
    const loaded = newer.value
    if (!loaded || !base.value || !form.value) return
    const theirs = formOf(loaded.job)
    const merged = merge(base.value, theirs, form.value, takeTheirs.value)
    begin(theirs, loaded)
    form.value = merged
    takeTheirs.value = []
    refused.value = false
    error.value = undefined
  }

  function makeNew(): void {
    id.value = undefined
    isOrphan.value = true
    etag.value = ''
    error.value = undefined
    base.value = newForm('')
  }

  /* ---- saving ---- */

  const problemField = computed(() =>
    error.value instanceof ApiError ? fieldOfProblem(error.value.problem.field) : undefined,
  )

  async function add(): Promise<number> {
    const remark =
      source === undefined || isOrphan.value
        ? translate('editor.glueRemark')
        : translate('editor.glueRemarkCopy', { id: source })
    const body = newJobOf(form.value!, remark)
    return (await ask(() => api.POST('/api/v1/jobs', { body }))).id
  }

  async function edit(jobId: number): Promise<number> {
    const params = { path: { id: jobId }, header: { 'If-Match': etag.value } }
    await ask(() => api.PATCH('/api/v1/jobs/{id}', { params, body: changeOf(base.value!, form.value!) }))
    return jobId
  }

  /** Gives the job's id when it is saved, undefined when `faults` or `error` say why not. */
  async function save(): Promise<number | undefined> {
    if (busy.value || !form.value) return undefined
    tried.value = true
    error.value = undefined
    // What only the other one changed, and was shown, comes in without a question.
    if (newer.value && !hasConflict.value) accept()
    if (Object.keys(faults.value).length > 0) return undefined
    busy.value = true
    try {
      const saved = id.value === undefined ? await add() : await edit(id.value)
      void queryClient.invalidateQueries({ predicate: (q) => q.queryKey[0] !== 'job-editor' })
      return saved
    } catch (e) {
      error.value = e
      if (e instanceof ApiError && [404, 409, 412].includes(e.status) && id.value !== undefined) {
        refused.value = e.status === 412 || e.problem.kind === 'changed'
        void query.refetch()
      }
      return undefined
    } finally {
      busy.value = false
    }
  }

  // prettier-ignore
  return {
    accept, base, busy, changedBy, differences, error, faults, form, id, isDirty, isOrphan, makeNew, newer,
    problemField, query, refused, removed, running, save, source, takeTheirs, tried,
  }
}

export type Editor = ReturnType<typeof useEditor>
