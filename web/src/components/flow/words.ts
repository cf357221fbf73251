// SPDX-License-Identifier: MIT
/** words: what steps, edges and runs of flows say, in the user's language. */
import type { RouteLocationRaw } from 'vue-router'
import type { FlowRunState, ShortRun } from '@/api/flows'
import { durationText } from '@/composables/duration'
import { serverZone, pickZone, zoneChoice } from '@/composables/zone'
import { translate } from '@/i18n'
import type { On, Step } from '@/model/flow/document'
import type { Reason } from '@/model/flow/reason'
import { lengthMs, tickOfState } from '@/model/flow/states'
import type { TickData } from '@/model/ticks'
import { showInstant } from '@/model/time'

/** What stands below the name of a step. */
export function noteOf(step: Step, jobName: (id: number) => string | undefined): string {
  switch (step.type) {
    case 'wait':
      if (typeof step.seconds === 'number') return durationText(step.seconds * 1000)
      return step.until ? translate('flows.untilTime', { time: step.until }) : ''
    case 'approval':
      return typeof step.text === 'string' ? step.text : ''
    case 'flow':
      return typeof step.flow === 'string' ? step.flow : ''
    default:
      return step.jobId ? jobName(step.jobId) || `#${step.jobId}` : ''
  }
}

export function edgeWords(on: On, conditions: number): string {
  const parts = [on === 'success' ? '' : translate(`flows.on.${on}`), conditions ? translate('flows.conditions', { n: conditions }, conditions) : '']
  return parts.filter((p) => p).join(', ')
}

export function stateWords(state: string): string {
  return translate(`flows.state.${state as FlowRunState}`)
}

/** Why a step waits; '' where nothing holds it any more. */
export function reasonWords(reason: Reason): string {
  if (!reason.for.length) return ''
  const parts = reason.for.map((edge) => {
    const text = translate(`flows.waitsFor.${edge.on}`, { name: edge.name })
    return edge.conditions ? translate('flows.withConditions', { text }) : text
  })
  return translate(reason.any ? 'flows.waitsAny' : 'flows.waitsAll', { list: parts.join(translate('states.word.and')) })
}

export function runPlace(id: number, step?: string): RouteLocationRaw {
  return { name: 'flow-run', params: { id: String(id) }, query: step === undefined ? undefined : { step } }
}

/** "succeeded in 12 s" */
export function flowRunSentence(run: ShortRun, now = Date.now()): string {
  const ms = lengthMs(run, now)
  const text = stateWords(run.state)
  if (ms === undefined || run.state === 'queued' || run.state === 'skipped') return text
  const time = ms < 1000 ? translate('states.word.under') : durationText(Math.round(ms / 1000) * 1000)
  return translate(run.state === 'running' ? 'flows.goingFor' : 'flows.endedIn', { text, time })
}

export function tickOfFlowRun(run: ShortRun): TickData {
  const text = flowRunSentence(run)
  const zone = pickZone(zoneChoice.value, serverZone.value)
  const label = run.startedAt ? translate('states.word.at', { time: showInstant(run.startedAt, zone), text }) : text
  return { state: tickOfState(run.state), label, to: runPlace(run.id) }
}
