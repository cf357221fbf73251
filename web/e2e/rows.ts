// SPDX-License-Identifier: MIT
import type { Locator } from 'playwright-core'
import type { Person } from './person'

/** The row of a job in the list. */
export function row(p: Person, id: number): Locator {
  return p.page.locator(`[data-test="job-row"][data-id="${id}"]`)
}

/** Opens a section of the editor that is closed at first. */
export async function openSection(p: Person, name: string): Promise<void> {
  const section = p.get('editor').locator(`[data-section="${name}"]`)
  if ((await section.getAttribute('open')) === null) await p.click(section.locator('summary'))
}

/** As `GET /jobs/{id}` gives it. */
export interface JobAnswer {
  name: string
  scheduleConf: string
  executorTimeout: number
  running: boolean
}

export async function getJob(p: Person, id: number): Promise<JobAnswer> {
  const answer = await p.context.request.get(`${p.url}/api/v1/jobs/${id}`)
  return (await answer.json()) as JobAnswer
}
