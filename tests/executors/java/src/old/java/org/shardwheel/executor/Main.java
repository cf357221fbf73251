/* SPDX-License-Identifier: MIT */
package org.shardwheel.executor;

import com.xxl.job.core.executor.XxlJobExecutor;
import java.util.concurrent.CountDownLatch;

/** The Main of src/main, on the executor of 2.2.0. */
public final class Main {
    private Main() {
    }

    private static String property(String name) {
        String value = System.getProperty("executor." + name);
        if (value == null) {
            throw new IllegalArgumentException("-Dexecutor." + name + "=... is missing");
        }
        return value;
    }

    public static void main(String[] args) throws Exception {
        XxlJobExecutor executor = new XxlJobExecutor();
        executor.setAdminAddresses(property("admin"));
        executor.setAppname(property("appname"));
        executor.setAddress(property("address"));
        executor.setPort(Integer.parseInt(property("port")));
        executor.setAccessToken(property("token"));
        executor.setLogPath(property("logpath"));
        executor.setLogRetentionDays(3);
        Handlers.all().forEach(XxlJobExecutor::registJobHandler);
        Runtime.getRuntime().addShutdownHook(new Thread(executor::destroy));
        executor.start();
        new CountDownLatch(1).await();
    }
}
