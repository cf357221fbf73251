// SPDX-License-Identifier: MIT
/** actions: what makes sense with a step of a run now. Pure. */
import type { FlowRun, FlowStep, RunAction, StepAction } from '@/api/flows'
import { isOpenRun } from './states'

export function stepActions(run: Pick<FlowRun, 'state'>, step: Pick<FlowStep, 'state' | 'type' | 'closed'>): StepAction[] {
  if (step.closed) return []
  const isOpen = isOpenRun(run.state)
  const isHeld = step.state === 'running' && (step.type === 'approval' || step.type === 'wait')
  const actions: StepAction[] = []
  if (step.state === 'running' && step.type === 'approval') actions.push('approve', 'reject')
  if (step.state === 'failed' || step.state === 'cancelled') actions.push('retry')
  if (step.state === 'failed' || (isOpen && (step.state === 'waiting' || isHeld))) actions.push('skip', 'done')
  return actions
}

export function runActions(run: Pick<FlowRun, 'state'>): RunAction[] {
  if (isOpenRun(run.state)) return ['cancel']
  return run.state === 'failed' || run.state === 'cancelled' ? ['rerun'] : []
}

/** Who marks something as done says why. */
export const needsRemark = (action: StepAction): boolean => action === 'done'
