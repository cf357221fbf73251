// SPDX-License-Identifier: MIT
export default {
  now: {
    title: 'Run {name}',
    own: "Put back the job's own",
    addresses: 'Addresses',
    anyAddress: 'as its route says ({route})',
    nobody: 'No executor of its group is registered: the run will fail unless you name an address.',
    atOnce: 'now',
    atTime: 'at a time',
    unreadable: 'A date and a time, please.',
    past: 'That is over.',
    later: 'It will be sent at',
    takeBack: 'Take it back',
    again: 'Run once more',
    more: 'and {n} more runs',
  },
  remove: {
    title: 'Delete {name}?',
    text: 'The job goes with its log, its GLUE versions and what waits of it. This cannot be taken back.',
  },
}
