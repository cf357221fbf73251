// SPDX-License-Identifier: MIT
/** router: the pages. Each is loaded when it is opened. `right`, `all`: what one must be allowed to see it. */
import { shallowRef } from 'vue'
import { createRouter, createWebHistory, type RouteMeta, type RouteRecordRaw } from 'vue-router'
import { context } from '@/api/client'
import { can, loadSession, seesAll, type Right } from '@/composables/session'

declare module 'vue-router' {
  interface RouteMeta {
    /** The entry of the rail that it belongs to. */
    rail?: 'dashboard' | 'jobs' | 'flows' | 'runs' | 'executors' | 'cluster' | 'alarms' | 'admin' | 'help'
    right?: Right
    /** For those alone who see all groups. */
    all?: true
    open?: boolean
  }
}

const routes: RouteRecordRaw[] = [
  { path: '/login', name: 'login', component: () => import('@/pages/login/LoginPage.vue'), meta: { open: true } },
  {
    path: '/',
    name: 'dashboard',
    component: () => import('@/pages/dashboard/DashboardPage.vue'),
    meta: { rail: 'dashboard' },
  },
  { path: '/jobs', name: 'jobs', component: () => import('@/pages/jobs/JobsPage.vue'), meta: { rail: 'jobs' } },
  {
    path: '/import',
    name: 'import',
    component: () => import('@/pages/jobs/ImportPage.vue'),
    meta: { rail: 'jobs', right: 'write' },
  },
  {
    path: '/jobs/:id(\\d+)/glue',
    name: 'glue',
    component: () => import('@/pages/glue/GluePage.vue'),
    meta: { rail: 'jobs' },
  },
  {
    path: '/jobs/:id(\\d+)/:tab(runs|settings|history|children|why)?',
    name: 'job',
    component: () => import('@/pages/job/JobPage.vue'),
    meta: { rail: 'jobs' },
  },
  { path: '/flows', name: 'flows', component: () => import('@/pages/flows/FlowsPage.vue'), meta: { rail: 'flows' } },
  {
    path: '/flows/new',
    name: 'flow-new',
    component: () => import('@/pages/flow-edit/FlowEditPage.vue'),
    meta: { rail: 'flows', right: 'write' },
  },
  {
    path: '/flows/:id(\\d+)/edit',
    name: 'flow-edit',
    component: () => import('@/pages/flow-edit/FlowEditPage.vue'),
    meta: { rail: 'flows' },
  },
  {
    path: '/flows/:id(\\d+)/:tab(runs|versions)?',
    name: 'flow',
    component: () => import('@/pages/flow/FlowPage.vue'),
    meta: { rail: 'flows' },
  },
  {
    path: '/flow-runs/:id(\\d+)',
    name: 'flow-run',
    component: () => import('@/pages/flow-run/FlowRunPage.vue'),
    meta: { rail: 'flows' },
  },
  { path: '/runs', name: 'runs', component: () => import('@/pages/runs/RunsPage.vue'), meta: { rail: 'runs' } },
  { path: '/runs/:id(\\d+)', name: 'run', component: () => import('@/pages/run/RunPage.vue'), meta: { rail: 'runs' } },
  {
    path: '/executors',
    name: 'executors',
    component: () => import('@/pages/executors/ExecutorsPage.vue'),
    meta: { rail: 'executors' },
  },
  {
    path: '/executors/:id(\\d+)',
    name: 'executor',
    component: () => import('@/pages/executors/ExecutorPage.vue'),
    meta: { rail: 'executors' },
  },
  {
    path: '/cluster',
    name: 'cluster',
    component: () => import('@/pages/cluster/ClusterPage.vue'),
    meta: { rail: 'cluster', all: true },
  },
  { path: '/alarms', name: 'alarms', component: () => import('@/pages/alarms/AlarmsPage.vue'), meta: { rail: 'alarms' } },
  {
    path: '/events',
    name: 'events',
    component: () => import('@/pages/events/EventsPage.vue'),
    meta: { rail: 'alarms', right: 'admin' },
  },
  {
    path: '/events/deliveries',
    name: 'deliveries',
    component: () => import('@/pages/events/DeliveriesPage.vue'),
    meta: { rail: 'alarms', right: 'admin' },
  },
  {
    path: '/users',
    name: 'users',
    component: () => import('@/pages/people/UsersPage.vue'),
    meta: { rail: 'admin', right: 'admin' },
  },
  { path: '/tokens', name: 'tokens', component: () => import('@/pages/people/TokensPage.vue'), meta: { rail: 'admin' } },
  { path: '/account', name: 'account', component: () => import('@/pages/people/AccountPage.vue') },
  { path: '/audit', name: 'audit', component: () => import('@/pages/audit/AuditPage.vue'), meta: { rail: 'admin' } },
  {
    path: '/settings',
    name: 'settings',
    component: () => import('@/pages/settings/SettingsPage.vue'),
    meta: { rail: 'admin', right: 'admin' },
  },
  { path: '/help', name: 'help', component: () => import('@/pages/help/HelpPage.vue'), meta: { rail: 'help' } },
  { path: '/:rest(.*)*', name: 'nowhere', component: () => import('@/pages/help/NowherePage.vue') },
]

export const router = createRouter({
  history: createWebHistory(`${context}/`),
  routes,
  scrollBehavior: (to, from, saved) => saved ?? (to.path === from.path ? false : { top: 0 }),
})

/** Why the first page could not be opened, as long as that is so: no node says who is logged in. */
export const awayError = shallowRef<unknown>()

/** The frame shows in words that a page is not for the role, in place of the page. */
export function mayOpen(meta: RouteMeta): boolean {
  return (!meta.right || can(meta.right)) && (!meta.all || seesAll())
}

router.beforeEach(async (to) => {
  if (to.meta.open) return true
  try {
    const session = await loadSession()
    awayError.value = undefined
    if (!session) return { name: 'login', query: to.fullPath === '/' ? {} : { to: to.fullPath } }
    return true
  } catch (e) {
    awayError.value = e
    return false
  }
})
