// SPDX-License-Identifier: MIT
/** context: what the sections of the drawer share: the editor, and what is wrong with a field, in words. */
import { inject, provide, type InjectionKey } from 'vue'
import { describeError } from '@/composables/problem'
import { translate, type MessageKey } from '@/i18n'
import type { Editor } from './useEditor'

const KEY: InjectionKey<Editor> = Symbol('editor')

export function provideEditor(editor: Editor): void {
  provide(KEY, editor)
}

export function useFields() {
  const editor = inject(KEY)!

  /** A fault of our own, else what the server said of it. */
  function errorOf(field: string): string | undefined {
    const fault = editor.tried.value ? editor.faults.value[field] : undefined
    if (fault) return translate(`editor.fault.${fault.code}` as MessageKey, { ...fault })
    if (editor.problemField.value !== field) return undefined
    const words = describeError(editor.error.value)
    return words.detail ? `${words.text} (${words.detail})` : words.text
  }

  return { editor, errorOf }
}
