// SPDX-License-Identifier: MIT
/** Every page of the console, with data behind it where it needs some. */
import { stage } from '../stage'

export interface Place {
  name: string
  path: string
}

export function places(run: number): Place[] {
  const job = stage.jobs
  return [
    { name: 'dashboard', path: '/' },
    { name: 'jobs', path: '/jobs' },
    { name: 'import', path: '/import' },
    { name: 'job', path: `/jobs/${job.steady}` },
    { name: 'job-settings', path: `/jobs/${job.strange}/settings` },
    { name: 'job-history', path: `/jobs/${job.edited}/history` },
    { name: 'job-children', path: `/jobs/${job.steady}/children` },
    { name: 'job-why', path: `/jobs/${job.failing}/why` },
    { name: 'glue', path: `/jobs/${job.glue}/glue` },
    { name: 'flows', path: '/flows' },
    { name: 'flow-new', path: '/flows/new' },
    { name: 'runs', path: '/runs' },
    { name: 'run', path: `/runs/${run}` },
    { name: 'run-kept', path: `/runs/${stage.runs.kept}` },
    { name: 'executors', path: '/executors' },
    { name: 'executor', path: `/executors/${stage.group.id}` },
    { name: 'cluster', path: '/cluster' },
    { name: 'alarms', path: '/alarms' },
    { name: 'events', path: '/events' },
    { name: 'deliveries', path: '/events/deliveries' },
    { name: 'users', path: '/users' },
    { name: 'tokens', path: '/tokens' },
    { name: 'audit', path: '/audit' },
    { name: 'settings', path: '/settings' },
    { name: 'account', path: '/account' },
    { name: 'help', path: '/help' },
  ]
}
