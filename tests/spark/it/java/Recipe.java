// SPDX-License-Identifier: Apache-2.0
// Takes the words of a spark-submit as Spark's own client does, and tells what an executor would get.
package org.verbena.spark;

import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.Volume;
import io.fabric8.kubernetes.api.model.VolumeMount;
import java.nio.file.Path;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.deploy.SparkSubmit;
import org.apache.spark.deploy.k8s.KubernetesExecutorConf;
import org.apache.spark.deploy.k8s.SparkPod;
import org.apache.spark.deploy.k8s.features.BasicExecutorFeatureStep;
import org.apache.spark.deploy.k8s.features.MountVolumesFeatureStep;
import org.apache.spark.internal.config.package$;
import org.apache.spark.resource.ResourceProfile$;
import org.verbena.spark.settings.VerbenaConf;
import scala.Option;

/** Prints KEY=VALUE lines, in bytes; fails where Spark's client would, or the API server would refuse the pod. */
public final class Recipe {
    private static final Path SHM = Path.of("/dev/shm");
    private static final long HOST = 256L << 30;

    private Recipe() {
    }

    public static void main(String[] words) {
        SparkSubmit submit = new SparkSubmit();
        SparkConf conf = submit.prepareSubmitEnvironment(submit.parseArguments(words), Option.empty())._3();
        VerbenaConf settings = new VerbenaConf(conf);
        ContainerMemory asked = ContainerMemory.ofExecutors(conf);
        System.out.println("master=" + conf.get("spark.master"));
        System.out.println("plugins=" + conf.get("spark.plugins"));
        System.out.println("asked=" + asked.limit());
        System.out.println("wanted=" + settings.memory());
        long shm = HOST;
        if (conf.get("spark.master").startsWith("k8s://")) {
            shm = pod(conf);
        }
        SlabBudget budget = SlabBudget.choose(settings.memory(), HOST, asked, ShuffleEngine.executorsPerHost(conf), SHM, shm);
        System.out.println("budget=" + budget.bytes());
        System.out.println("warning=" + budget.warning());
        System.out.println("sum=" + (asked.heap() + asked.others() + budget.bytes()));
        System.out.println("buffers=" + asked.buffers());
    }

    /** Makes an executor's pod as Spark does; gives the size of its /dev/shm. */
    private static long pod(SparkConf conf) {
        KubernetesExecutorConf executor = new KubernetesExecutorConf(conf, "spark-application", "1", Option.empty(), 0);
        SecurityManager security = new SecurityManager(conf, Option.empty(), package$.MODULE$.AUTH_SECRET_FILE());
        SparkPod basic = new BasicExecutorFeatureStep(executor, security, ResourceProfile$.MODULE$.getOrCreateDefaultProfile(conf))
            .configurePod(SparkPod.initialPod());
        SparkPod pod = new MountVolumesFeatureStep(executor).configurePod(basic);
        Container container = pod.container();
        System.out.println("limit=" + bytes(container.getResources().getLimits().get("memory")));
        String name = container.getVolumeMounts().stream().filter(mount -> mount.getMountPath().equals(SHM.toString()))
            .map(VolumeMount::getName).findFirst().orElseThrow();
        Volume volume = pod.pod().getSpec().getVolumes().stream().filter(one -> one.getName().equals(name)).findFirst()
            .orElseThrow();
        System.out.println("medium=" + volume.getEmptyDir().getMedium());
        return bytes(volume.getEmptyDir().getSizeLimit());
    }

    private static long bytes(Quantity quantity) {
        return quantity.getNumericalAmount().longValueExact(); // an error for what is no quantity
    }
}
