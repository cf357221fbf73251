// SPDX-License-Identifier: MIT
/**
 * person: somebody at the console, in a browser of his own. Clicks and keys of shortcuts are counted; typing is not.
 * Everything waits for what it wants to see, never for a time. What the page writes to the browser's console as an
 * error, an exception, a request to another host or a breach of the CSP fails the task.
 */
import { appendFileSync, mkdirSync } from 'node:fs'
import { chromium, type Browser, type BrowserContext, type Locator, type Page } from 'playwright-core'
import { stage, word } from './stage'
import type { Language, MessageKey } from '@/i18n'

let browser: Browser | undefined

export async function openBrowser(): Promise<Browser> {
  browser ??= await chromium.launch({
    executablePath: process.env.SW_CHROMIUM ?? '/usr/bin/chromium-headless-shell',
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  })
  return browser
}

export async function closeBrowser(): Promise<void> {
  await browser?.close()
  browser = undefined
}

export interface Options {
  user?: string
  language?: Language
  width?: number
  height?: number
  theme?: 'light' | 'dark'
  /** Which node's address. */
  node?: number
}

export class Person {
  readonly context: BrowserContext
  readonly page: Page
  readonly language: Language
  readonly url: string
  clicks = 0
  readonly problems: string[] = []

  private constructor(context: BrowserContext, page: Page, language: Language, url: string) {
    this.context = context
    this.page = page
    this.language = language
    this.url = url
  }

  /** A browser at the address; logged in where `user` is given. */
  static async arrive(options: Options = {}): Promise<Person> {
    const language = options.language ?? stage.language
    const context = await (await openBrowser()).newContext({
      viewport: { width: options.width ?? 1280, height: options.height ?? 800 },
      locale: language,
      colorScheme: options.theme ?? 'light',
      timezoneId: 'Asia/Shanghai',
      reducedMotion: 'reduce',
      acceptDownloads: true,
    })
    context.setDefaultTimeout(20_000)
    const url = stage.nodes[options.node ?? 0]!.url
    const person = new Person(context, await context.newPage(), language, url)
    person.watch()
    if (options.user) await person.logIn(options.user)
    return person
  }

  private watch(): void {
    const { page, problems, url } = this
    page.on('pageerror', (e) => problems.push(`exception: ${e.message}`))
    page.on('console', (m) => {
      const isRefusal = /Failed to load resource/.test(m.text())
      if (m.type() === 'error' && !isRefusal) problems.push(`console: ${m.text()}`)
    })
    page.on('request', (r) => {
      const at = new URL(r.url())
      const hosts = [url, stage.provider ?? url].map((own) => new URL(own).host)
      if (stage.provider && r.frame().url().startsWith(stage.provider)) return // its pages are not ours
      if (/^https?:$/.test(at.protocol) && !hosts.includes(at.host)) problems.push(`asks another host: ${r.url()}`)
    })
    page.on('dialog', (d) => {
      problems.push(`dialog: ${d.message()}`)
      void d.dismiss()
    })
  }

  /** Logs in by the API: for tasks that are about something else. */
  async logIn(user: string): Promise<void> {
    const password = stage.users[user]
    const answer = await this.context.request.post(`${this.url}/api/v1/session`, {
      data: { username: user, password, remember: false },
    })
    if (!answer.ok()) throw new Error(`login of ${user}: HTTP ${answer.status()} ${await answer.text()}`)
  }

  w(key: MessageKey, values: Record<string, unknown> = {}): string {
    return word(key, values, this.language)
  }

  async go(path: string): Promise<void> {
    await this.page.goto(this.url + path)
  }

  get(test: string): Locator {
    return this.page.locator(`[data-test="${test}"]`)
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole('button', { name })
  }

  async click(what: Locator): Promise<void> {
    this.clicks++
    await what.click()
  }

  async press(key: string): Promise<void> {
    this.clicks++
    await this.page.keyboard.press(key)
  }

  async see(what: Locator | string, timeout = 20_000): Promise<void> {
    const locator = typeof what === 'string' ? this.page.getByText(what).first() : what.first()
    await locator.waitFor({ state: 'visible', timeout })
  }

  async leave(): Promise<void> {
    await this.context.close()
    if (this.problems.length) throw new Error(this.problems.join('\n'))
  }
}

/** Does a task as somebody; its clicks go to `clicks.jsonl`, a picture of a failure to the same folder. */
export async function doTask(name: string, options: Options, steps: (p: Person) => Promise<void>): Promise<void> {
  const person = await Person.arrive(options)
  try {
    await steps(person)
  } catch (e) {
    mkdirSync(stage.out, { recursive: true })
    await person.page.screenshot({ path: `${stage.out}/${name.replace(/\W+/g, '-')}-${person.language}.png` })
    await person.context.close()
    throw new Error(`${(e as Error).message}\n${person.problems.join('\n')}`, { cause: e })
  }
  appendFileSync(
    `${stage.out}/clicks.jsonl`,
    `${JSON.stringify({ task: name, language: person.language, clicks: person.clicks })}\n`,
  )
  await person.leave()
}
