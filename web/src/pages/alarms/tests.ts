// SPDX-License-Identifier: MIT
/** tests: messages of test to channels, and what came of the last one of each. */
import { ref, shallowRef } from 'vue'
import type { Channel } from './channels'
import { api, ask, type Schemas } from '@/api/client'
import { useDoing } from '@/composables/doing'

export type TestResult = Schemas['AlarmTest']['items'][number]

export function useTests() {
  /** Name of the channel that is asked now; '*': all. */
  const busy = ref('')
  const results = shallowRef<TestResult[]>([])
  const { error, run } = useDoing()

  async function send(name: string): Promise<void> {
    if (busy.value) return
    busy.value = name
    results.value = results.value.filter((r) => name !== '*' && r.channel !== name)
    await run(async () => {
      const body = name === '*' ? {} : { channel: name }
      const answer = await ask(() => api.POST('/api/v1/alarms/test', { body }))
      results.value = [...results.value.filter((r) => !answer.items.some((i) => i.channel === r.channel)), ...answer.items]
    })
    busy.value = ''
  }

  /** All mails have one receiver, whatever their channel is called. */
  function resultsOf(channel: Channel): TestResult[] {
    return results.value.filter((r) => r.channel === (channel.kind === 'mail' ? 'mail' : channel.name))
  }

  return { busy, error, send, resultsOf }
}
