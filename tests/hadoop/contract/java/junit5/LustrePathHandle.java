// SPDX-License-Identifier: Apache-2.0
// The contract of handles, for the JUnit 5 of Hadoop 3.5.
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.contract.AbstractContractPathHandleTest;
import org.apache.hadoop.fs.contract.AbstractFSContract;

public class LustrePathHandle extends AbstractContractPathHandleTest {
    protected AbstractFSContract createContract(Configuration conf) { return new LustreContracts.Contract(conf); }
}
