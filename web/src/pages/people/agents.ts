// SPDX-License-Identifier: MIT
/** agents: what a User-Agent header says, as far as people want to know. Pure. */

const BROWSERS: [RegExp, string][] = [
  [/\bEdg(?:e|A|iOS)?\/(\d+)/, 'Edge'],
  [/\bOPR\/(\d+)/, 'Opera'],
  [/\bMicroMessenger\/(\d+)/, 'WeChat'],
  [/\bFirefox\/(\d+)/, 'Firefox'],
  [/\b(?:Headless)?Chrom(?:e|ium)\/(\d+)/, 'Chrome'],
  [/\bVersion\/(\d+)[\d.]* (?:Mobile\/\S+ )?Safari/, 'Safari'],
]
const SYSTEMS: [RegExp, string][] = [
  [/Windows NT/, 'Windows'],
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Mac OS X/, 'macOS'],
  [/Linux|X11/, 'Linux'],
]

/** "Firefox 140 · Linux"; a program's first word as it is: "curl/8.5.0". Empty where there is none. */
export function nameAgent(agent: string): string {
  for (const [pattern, name] of BROWSERS) {
    const match = pattern.exec(agent)
    if (!match) continue
    const system = SYSTEMS.find(([p]) => p.test(agent))?.[1]
    return system ? `${name} ${match[1]} · ${system}` : `${name} ${match[1]}`
  }
  return agent.trim().split(' ')[0]!.slice(0, 60)
}
