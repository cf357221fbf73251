// SPDX-License-Identifier: MIT
/** flowActions: start, stop and removal of one flow, the same from the list and from its page. */
import { reactive } from 'vue'
import { flowsApi, type Flow } from '@/api/flows'
import { queryClient } from '@/api/query'
import { confirm } from './confirm'
import { translate } from '@/i18n'

const under = reactive(new Map<number, true>())
const problems = reactive(new Map<number, unknown>())

async function attempt(id: number, call: () => Promise<unknown>): Promise<boolean> {
  if (under.has(id)) return false
  under.set(id, true)
  problems.delete(id)
  try {
    await call()
    for (const key of ['flows', 'flow']) void queryClient.invalidateQueries({ queryKey: [key] })
    return true
  } catch (e) {
    problems.set(id, e)
    return false
  } finally {
    under.delete(id)
  }
}

function toggle(flow: Flow): Promise<boolean> {
  return attempt(flow.id, () => (flow.state === 'started' ? flowsApi.stop(flow.id) : flowsApi.start(flow.id)))
}

/** Asks first. True: it is gone. */
async function remove(flow: Flow): Promise<boolean> {
  const title = translate('flows.remove.title', { name: flow.name })
  if (!(await confirm(title, translate('flows.remove.text'), translate('common.remove')))) return false
  return attempt(flow.id, () => flowsApi.remove(flow.id))
}

export function useFlowActions() {
  return { toggle, remove, busy: (id: number) => under.has(id), problemOf: (id: number) => problems.get(id) }
}
