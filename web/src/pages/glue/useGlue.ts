// SPDX-License-Identifier: MIT
/** useGlue: the source of a job, its versions, the text that is edited, and what others save meanwhile. */
import { useQuery } from '@tanstack/vue-query'
import { computed, ref, shallowRef, watch } from 'vue'
import { api, ApiError, ask, askTagged, type Schemas } from '@/api/client'
import { POLL, queryClient } from '@/api/query'
import { settle, type Side } from './glue'

interface Loaded {
  glue: Schemas['Glue']
  etag: string
}

async function loadGlue(jobId: number): Promise<Loaded> {
  const { data, etag } = await askTagged(() => api.GET('/api/v1/jobs/{jobId}/glue', { params: { path: { jobId } } }))
  return { glue: data, etag }
}

function sourceOf(loaded: Loaded): string {
  return settle(loaded.glue.glueSource ?? '')
}

export function useGlue(jobId: number) {
  const current = useQuery({ queryKey: ['glue', jobId], queryFn: () => loadGlue(jobId), staleTime: 0, gcTime: 0 })
  const isGlue = computed(() => current.data.value !== undefined && current.data.value.glue.glueType !== 'BEAN')
  const versions = useQuery({
    queryKey: ['glue', jobId, 'versions'],
    queryFn: () =>
      ask(() => api.GET('/api/v1/jobs/{jobId}/glue/versions', { params: { path: { jobId } } })),
    enabled: isGlue,
    refetchInterval: POLL.list,
  })

  /** What the text began as, and its ETag. */
  const base = shallowRef<Loaded>()
  const text = ref('')
  const error = shallowRef<unknown>()
  const busy = ref(false)

  const isDirty = computed(() => base.value !== undefined && text.value !== sourceOf(base.value))
  /** Somebody else has saved since. */
  const newer = computed(() =>
    base.value && current.data.value && current.data.value.etag !== base.value.etag ? current.data.value : undefined,
  )

  function begin(loaded: Loaded): void {
    base.value = loaded
    text.value = sourceOf(loaded)
    error.value = undefined
  }

  watch(
    () => current.data.value,
    (loaded) => {
      // Without edits there is nothing to choose: what is there now comes in.
      if (loaded && (!base.value || !isDirty.value)) begin(loaded)
    },
    { immediate: true },
  )
  // Versions are small and polled; the source is read again when there is a new one.
  watch(
    () => versions.data.value?.items[0]?.id,
    (id, before) => before !== undefined && id !== before && void current.refetch(),
  )

  async function loadVersion(version: number): Promise<string> {
    const params = { path: { jobId, version } }
    const found = await queryClient.fetchQuery({
      queryKey: ['glue', jobId, 'version', version],
      queryFn: () => ask(() => api.GET('/api/v1/jobs/{jobId}/glue/versions/{version}', { params })),
      staleTime: Infinity,
    })
    return settle(found.glueSource ?? '')
  }

  /** The text of a side of a comparison. */
  async function textOf(side: Side): Promise<string> {
    if (side === 'text') return text.value
    return side === 'saved' ? (current.data.value ? sourceOf(current.data.value) : '') : loadVersion(side)
  }

  async function save(remark: string): Promise<boolean> {
    busy.value = true
    error.value = undefined
    const params = { path: { jobId }, header: { 'If-Match': base.value!.etag } }
    const body = { glueSource: text.value, glueRemark: remark }
    try {
      await ask(() => api.POST('/api/v1/jobs/{jobId}/glue', { params, body }))
      const saved = body.glueSource
      const { data } = await current.refetch()
      if (data && sourceOf(data) === saved) base.value = data
      void versions.refetch()
      void queryClient.invalidateQueries({ queryKey: ['job', jobId] })
      return true
    } catch (e) {
      error.value = e
      if (e instanceof ApiError && (e.status === 412 || e.status === 409)) void current.refetch()
      return false
    } finally {
      busy.value = false
    }
  }

  /** The text is to be saved over what somebody else has saved. */
  function keepMine(): void {
    if (newer.value) base.value = newer.value
    error.value = undefined
  }

  function takeTheirs(): void {
    if (newer.value) begin(newer.value)
  }

  return { base, busy, current, error, isDirty, isGlue, keepMine, newer, save, takeTheirs, text, textOf, versions }
}
