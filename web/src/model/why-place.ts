// SPDX-License-Identifier: MIT
/** The page that answers for a job at a time. `run`: one that is asked about: a retry stands with the due time of the first. */
export function whyPlace(job: number, at: string, run?: number) {
  return { name: 'job', params: { id: String(job), tab: 'why' }, query: { at, ...(run ? { run: String(run) } : {}) } }
}
