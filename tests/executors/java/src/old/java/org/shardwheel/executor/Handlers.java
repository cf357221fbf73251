/* SPDX-License-Identifier: MIT */
package org.shardwheel.executor;

import com.xxl.job.core.biz.model.ReturnT;
import com.xxl.job.core.handler.IJobHandler;
import com.xxl.job.core.log.XxlJobLogger;
import com.xxl.job.core.util.ShardingUtil;
import java.util.Map;

/** The jobs of src/main, on the interface of 2.2.0. */
final class Handlers {
    private interface Body {
        String run(String param) throws Exception;
    }

    private Handlers() {
    }

    private static IJobHandler handler(Body body) {
        return new IJobHandler() {
            @Override
            public ReturnT<String> execute(String param) throws Exception {
                return new ReturnT<>(ReturnT.SUCCESS_CODE, body.run(param));
            }
        };
    }

    private static String demo(String param) {
        ShardingUtil.ShardingVO shard = ShardingUtil.getShardingVo();
        return "param=" + param + " shard=" + shard.getIndex() + "/" + shard.getTotal();
    }

    private static String fail(String param) {
        throw new IllegalStateException("failing on purpose <&> \uD83D\uDE00");
    }

    private static String sleep(String param) throws InterruptedException {
        Thread.sleep(Long.parseLong(param));
        return "slept " + param + " ms";
    }

    private static String log(String param) {
        int lines = Integer.parseInt(param);
        for (int i = 1; i <= lines; i++) {
            XxlJobLogger.log("line " + i + " <&> \uD83D\uDE00");
        }
        return null;
    }

    static Map<String, IJobHandler> all() {
        return Map.of("demoJobHandler", handler(Handlers::demo), "failingJobHandler", handler(Handlers::fail),
                "sleepingJobHandler", handler(Handlers::sleep), "loggingJobHandler", handler(Handlers::log));
    }
}
