// SPDX-License-Identifier: MIT
/** removing: deletes a group after asking once. Why it was refused stays until the next try. */
import { ref } from 'vue'
import { refreshGroups } from './data'
import type { Group } from './group'
import { api, ask } from '@/api/client'
import { confirm } from '@/composables/confirm'
import { useDoing } from '@/composables/doing'
import { translate } from '@/i18n'

export function useRemoving() {
  const { error, run } = useDoing()
  /** Whose removal failed. */
  const name = ref('')

  /** `leave`: to another page, where this one is about the group that is gone. */
  async function remove(group: Group, leave?: () => Promise<unknown>): Promise<void> {
    const title = translate('executors.remove.title', { name: group.title })
    if (!(await confirm(title, translate('executors.remove.text'), translate('common.remove')))) return
    name.value = group.title
    const done = await run(() => ask(() => api.DELETE('/api/v1/groups/{id}', { params: { path: { id: group.id } } })))
    if (done) await leave?.()
    refreshGroups()
  }

  /** Why it cannot be deleted now; undefined: it can, as far as this page knows. */
  function reasonFor(jobs: number | null | undefined): string | undefined {
    return jobs ? translate('executors.remove.hasJobs', { n: jobs }, jobs) : undefined
  }

  return { error, name, remove, reasonFor }
}
