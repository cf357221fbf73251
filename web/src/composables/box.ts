// SPDX-License-Identifier: MIT
/** box: the dialog of confirm and leave, loaded when something is asked. */
import { ElMessageBox } from 'element-plus'
import 'element-plus/theme-chalk/el-message-box.css'
import 'element-plus/theme-chalk/el-overlay.css'
import 'element-plus/theme-chalk/el-button.css'
import 'element-plus/theme-chalk/el-input.css'

export interface Question {
  title: string
  text: string
  yes: string
  no: string
  danger: boolean
}

export async function ask(q: Question): Promise<boolean> {
  try {
    await ElMessageBox.confirm(q.text, q.title, {
      confirmButtonText: q.yes,
      cancelButtonText: q.no,
      confirmButtonClass: q.danger ? 'el-button--danger' : '',
      closeOnClickModal: false,
      autofocus: true,
    })
    return true
  } catch {
    return false
  }
}
