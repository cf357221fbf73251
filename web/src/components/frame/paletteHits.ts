// SPDX-License-Identifier: MIT
/** paletteHits: what the palette offers for what is typed: jobs, actions on them, a job or run by its id, pages. */
import { useQuery } from '@tanstack/vue-query'
import { computed, onScopeDispose, ref, watch, type Ref } from 'vue'
import type { RouteLocationRaw } from 'vue-router'
import { paletteOpen } from './palette'
import { readPalette, type PaletteAction } from './palette-words'
import { api, ask, type Schemas } from '@/api/client'
import { can } from '@/composables/session'
import { translate } from '@/i18n'
import { mayOpen, router } from '@/router'

export interface Hit {
  key: string
  label: string
  note: string
  to?: RouteLocationRaw
  action?: PaletteAction | 'add'
  job?: Schemas['Job']
}

const PAGES = [
  'dashboard',
  'jobs',
  'import',
  'flows',
  'runs',
  'executors',
  'cluster',
  'alarms',
  'events',
  'deliveries',
  'users',
  'tokens',
  'audit',
  'settings',
  'account',
  'help',
] as const
const WAIT_MS = 150
const MOST = 8

/** The right that an action takes, and which jobs it makes sense for. */
const NEEDS: Record<PaletteAction, { right: 'read' | 'run' | 'write'; running?: 'true' | 'false' }> = {
  run: { right: 'run' },
  start: { right: 'write', running: 'false' },
  stop: { right: 'write', running: 'true' },
  edit: { right: 'write' },
  why: { right: 'read' },
}

export function actionWord(action: PaletteAction): string {
  const words = { run: 'common.runNow', start: 'common.start', stop: 'common.stop', edit: 'common.edit', why: 'jobs.menu.why' } as const
  return translate(words[action])
}

export function usePaletteHits(text: Ref<string>) {
  const words = computed(() =>
    readPalette(text.value, {
      run: actionWord('run'),
      start: actionWord('start'),
      stop: actionWord('stop'),
      edit: actionWord('edit'),
      why: actionWord('why'),
    }),
  )
  const wanted = ref(words.value)
  let timer: ReturnType<typeof setTimeout> | undefined
  watch(words, (now) => {
    clearTimeout(timer)
    timer = setTimeout(() => (wanted.value = now), WAIT_MS)
  })
  onScopeDispose(() => clearTimeout(timer))

  const jobs = useQuery({
    queryKey: computed(() => ['jobs', 'palette', wanted.value]),
    queryFn: ({ signal }) => {
      const running = wanted.value.action && NEEDS[wanted.value.action].running
      const query = { limit: MOST, ...(wanted.value.text ? { text: wanted.value.text } : {}), ...(running ? { running } : {}) }
      return ask(() => api.GET('/api/v1/jobs', { params: { query }, signal }))
    },
    enabled: () => paletteOpen.value && (wanted.value.text !== '' || wanted.value.action !== undefined),
    placeholderData: (before) => before,
  })

  function hitOf(job: Schemas['Job']): Hit {
    const { action } = words.value
    const name = job.name || `#${job.id}`
    const note = `#${job.id} ${job.executorHandler ?? ''}`
    if (!action) return { key: `j${job.id}`, label: name, note, to: { name: 'job', params: { id: String(job.id) } } }
    return { key: `${action}${job.id}`, label: `${actionWord(action)} ${name}`, note, action, job }
  }

  return computed<Hit[]>(() => {
    const { action, text: word, id } = words.value
    const found: Hit[] = []
    if (id !== undefined) {
      const params = { id: String(id) }
      found.push({ key: `job${id}`, label: `${translate('common.job')} #${id}`, note: '', to: { name: 'job', params } })
      found.push({ key: `run${id}`, label: `${translate('common.run')} ${id}`, note: '', to: { name: 'run', params } })
    }
    const listed = word || action ? (jobs.data.value?.items ?? []) : []
    for (const job of listed) if (!action || can(NEEDS[action].right, job.jobGroup)) found.push(hitOf(job))
    if (action) return found
    const typed = word.toLowerCase()
    for (const name of PAGES) {
      if (!mayOpen(router.resolve({ name }).meta)) continue
      const label = translate(`frame.page.${name}`)
      if (label.toLowerCase().includes(typed) || name.includes(typed))
        found.push({ key: name, label, note: translate('frame.pageNote'), to: { name } })
    }
    const add = translate('editor.title.new')
    if (can('write') && add.toLowerCase().includes(typed)) found.push({ key: 'add', label: add, note: '', action: 'add' })
    return found
  })
}
