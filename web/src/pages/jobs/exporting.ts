// SPDX-License-Identifier: MIT
/** exporting: takes out all jobs, those of a group, those that match, or those that are chosen. */
import { useDoing } from '@/composables/doing'
import { api, ask } from '@/api/client'
import { translate } from '@/i18n'
import { gatherIds } from './batch'
import { downloadGroups, downloadJobs, EXPORT_MOST } from './download'
import { exportOf, listQuery, type JobFilters } from './filters'
import type { Selection } from './selection'

export class TooMany extends Error {}

async function matching(filters: JobFilters): Promise<number[]> {
  const query = listQuery({ ...filters, sort: 'id' })
  let tooMany = false
  const ids = await gatherIds(
    (after) => ask(() => api.GET('/api/v1/jobs', { params: { query: { ...query, limit: 500, after } } })),
    () => tooMany,
    (n) => (tooMany = n > EXPORT_MOST),
  )
  if (!ids || ids.length > EXPORT_MOST) throw new TooMany(translate('jobs.export.tooMany', { n: EXPORT_MOST }))
  return ids
}

export function useExport(filters: () => JobFilters) {
  const { busy, error, run } = useDoing()

  async function take(selection: Selection | undefined): Promise<void> {
    if (selection && !selection.all) {
      if (selection.ids.size > EXPORT_MOST) throw new TooMany(translate('jobs.export.tooMany', { n: EXPORT_MOST }))
      return downloadJobs([...selection.ids])
    }
    const groups = exportOf(filters())
    return groups ? downloadGroups(groups) : downloadJobs(await matching(filters()))
  }

  return { busy, error, exportJobs: (selection?: Selection) => run(() => take(selection)) }
}
