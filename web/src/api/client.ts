// SPDX-License-Identifier: MIT
/**
 * api: the calls of api/v1, typed by its OpenAPI document. `ask` is how everything in the console calls it:
 *
 *   const job = await ask(() => api.GET('/api/v1/jobs/{id}', { params: { path: { id } } }))
 *
 * It gives what a success has in its body and throws ApiError else. Where the session has ended it waits until the
 * user has logged in again (LoginDialog), and repeats the call: so nothing that somebody edits is lost.
 */
import createClient from 'openapi-fetch'
import type { components, paths } from './schema'
import { waitForLogin } from './relogin'

export type Schemas = components['schemas']
export type Problem = Schemas['Problem']

/** Where the console is served, without a slash at its end: '' or '/xxl-job-admin'. */
export const context = new URL('.', document.baseURI).pathname.replace(/\/$/, '')

export const api = createClient<paths>({ baseUrl: context, credentials: 'same-origin' })

/** What the server says no with, or `status` 0 where nothing came back at all. */
export class ApiError extends Error {
  readonly status: number
  readonly problem: Problem
  /** Seconds, where the server says when to try again. */
  readonly retryAfter: number | undefined

  constructor(status: number, problem: Problem, retryAfter?: number) {
    super(problem.detail)
    this.status = status
    this.problem = problem
    this.retryAfter = retryAfter
  }
}

interface Answer<T> {
  data?: T
  error?: unknown
  response: Response
}

/** Kinds of our own: `network` (no answer), `answer` (one that is not of this server). */
function makeProblem(status: number, kind: string, detail: string): Problem {
  return { type: 'about:blank', title: kind, status, detail, kind: kind as Problem['kind'] }
}

function isProblem(error: unknown): error is Problem {
  return typeof error === 'object' && error !== null && 'kind' in error && 'detail' in error
}

async function attempt<T>(call: () => Promise<Answer<T>>): Promise<Answer<T>> {
  try {
    return await call()
  } catch (e) {
    if (e instanceof DOMException && e.name === 'AbortError') throw e
    throw new ApiError(0, makeProblem(0, 'network', String(e)))
  }
}

function throwFor(answer: Answer<unknown>): never {
  const { status, headers } = answer.response
  const after = Number(headers.get('Retry-After') ?? NaN)
  const problem = isProblem(answer.error)
    ? answer.error
    : makeProblem(status, 'answer', `HTTP ${status} without a reason`)
  throw new ApiError(status, problem, Number.isFinite(after) ? after : undefined)
}

export interface Tagged<T> {
  data: T
  /** For If-Match; empty where there is none. */
  etag: string
}

export async function askTagged<T>(call: () => Promise<Answer<T>>): Promise<Tagged<T>> {
  for (;;) {
    const answer = await attempt(call)
    if (answer.response.ok) return { data: answer.data as T, etag: answer.response.headers.get('ETag') ?? '' }
    if (answer.response.status !== 401) throwFor(answer)
    await waitForLogin()
  }
}

export async function ask<T>(call: () => Promise<Answer<T>>): Promise<T> {
  return (await askTagged(call)).data
}

/** As `ask`, but a call that is refused with 401 fails: for the login itself. */
export async function askOnce<T>(call: () => Promise<Answer<T>>): Promise<T> {
  const answer = await attempt(call)
  if (!answer.response.ok) throwFor(answer)
  return answer.data as T
}
