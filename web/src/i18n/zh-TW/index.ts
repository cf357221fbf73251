// SPDX-License-Identifier: MIT
import type { Messages } from '..'
import common from './common'
import frame from './frame'
import login from './login'
import dashboard from './dashboard'
import jobs from './jobs'
import editor from './editor'
import job from './job'
import flows from './flows'
import flowEdit from './flowEdit'
import runs from './runs'
import run from './run'
import executors from './executors'
import glue from './glue'
import people from './people'
import alarms from './alarms'
import events from './events'
import audit from './audit'
import settings from './settings'
import cluster from './cluster'
import help from './help'
import states from './states'
import schedule from './schedule'
import reasons from './reasons'

const messages: Messages = {
  common,
  frame,
  login,
  dashboard,
  jobs,
  editor,
  job,
  flows,
  flowEdit,
  runs,
  run,
  executors,
  glue,
  people,
  alarms,
  events,
  audit,
  settings,
  cluster,
  help,
  states,
  schedule,
  reasons,
}

export default messages
