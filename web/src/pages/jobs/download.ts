// SPDX-License-Identifier: MIT
/** download: an export as a file. What the server sends goes into it byte by byte. */
import { api, ask } from '@/api/client'
import { showTime } from '@/model/time'

function save(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

function fileName(): string {
  const { date, clock } = showTime(Date.now(), 'UTC')
  return `shardwheel-jobs-${date}-${clock.replaceAll(':', '')}.json`
}

/** All that one sees, or some groups. */
export async function downloadGroups(query: { group?: string }): Promise<void> {
  const blob = await ask(() => api.GET('/api/v1/export', { params: { query }, parseAs: 'blob' }))
  save(blob as Blob, fileName())
}

/** So many jobs at most can be named. */
export const EXPORT_MOST = 10_000

export async function downloadJobs(ids: number[]): Promise<void> {
  const blob = await ask(() => api.POST('/api/v1/export', { body: { ids }, parseAs: 'blob' }))
  save(blob as Blob, fileName())
}
