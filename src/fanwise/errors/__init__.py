"""Every error that fanwise raises, in one tree.

::

    FanwiseError
    ├── UsageError (ValueError)        a wrong argument; nothing more is started
    │   ├── BadCap                     a cap, rate or budget that is not a positive number
    │   ├── UnknownCap                 `needs` names a cap that was not declared
    │   ├── ImpossibleNeeds            an item needs more of a cap than exists
    │   ├── NestedCap                  an item waits for a cap that it already holds
    │   ├── DuplicateKey               two items of one fan-out have the same key
    │   ├── DuplicateName              two fan-outs of one run have the same name
    │   ├── BadPredicate               a predicate raised, or did not return a bool
    │   ├── BadVerdict                 a requirement did not return a verdict
    │   ├── NotStorable                a value that the codec cannot store
    │   ├── NotShippable               work, an item or a value that cannot go to a worker
    │   ├── BadRunId                   a run id that is not a plain name
    │   ├── BadSpec                    a file with problems, each with its line, column and field
    │   ├── BadExpression              `{{ … }}` that does not parse, or cannot be computed
    │   ├── UnknownModel               a model name without a known provider
    │   ├── ModelNotReady              a model whose key, extra or weights are missing
    │   ├── MissingExtra               a feature whose packages are not installed
    │   ├── NoFreeWorkspace            more work at once than there are workspaces
    │   ├── UnknownCost                a budget in dollars, but the price of a call is unknown
    │   ├── BadTarget                  a target of `optimize` that is not a Python function
    │   ├── NoCandidates               there is nothing for `optimize` to judge
    │   └── NotRecorded                a replay got a request that was not recorded
    ├── ItemsError                     the iterable of items raised; `.outcomes` has what ran
    ├── NotOk                          `require()` on a result that is not ok; `.result`
    │   └── SamplingFailed             `sample` found no valid sample; `.reasons`, `.errors`
    ├── AttemptTimeout (TimeoutError)  an attempt took longer than its time-out
    ├── DeadlinePassed (TimeoutError)  the deadline passed before everything was done
    ├── RateLimited                    the server said "too many"; `.retry_after` in seconds
    ├── ModelError                     a language model gave no usable reply
    │   ├── ModelRateLimited           (also a RateLimited) retry after `.retry_after`
    │   ├── ModelOverloaded            it cannot serve now (5xx); worth retrying
    │   ├── ModelUnreachable           no connection, or it broke; worth retrying
    │   ├── ModelQuota                 credit or quota is used up; retrying does not help
    │   ├── ModelRejected              a bad request, wrong key or unknown model
    │   │   └── SchemaModeRefused      it takes no schema in this form; the next form is tried
    │   ├── ModelRefused               a content filter, or the model refused
    │   ├── ReplyTooLong               the reply is longer than `.limit` characters
    │   ├── ModelNotStarted            a local model's server did not start; `.log` says why
    │   └── BadOutput                  the reply does not parse or does not match the schema
    ├── PullFailed                     weights could not be pulled
    │   └── WrongDigest                the file is not the expected one; nothing is kept
    ├── BudgetExceeded                 the budget does not allow the next call
    ├── CommandFailed                  a child process did not exit with code 0
    ├── ClusterError                   the cluster could not be started, joined or used
    │   ├── WorkerLost                 three workers died of an item; `.workers`
    │   └── WorkersNotReady            no worker came up in time; `.seconds`
    ├── ProcessDied                    a worker's process for a sync function ended too early
    ├── SandboxUnavailable             there is no sandbox, so the code did not run
    ├── WorkspaceError                 a workspace could not be created, reset or used
    │   ├── GitFailed                  a git command failed; `.said` has its output
    │   ├── NoWorkspaces               not a single slot of a pool could be created
    │   └── PatchFailed                a patch does not apply to the workspace
    ├── BenchFailed                    the original of a program cannot be timed
    ├── CandidateUnfit                 a candidate cannot be put into a workspace; `.reason`
    ├── NotComparable                  the target's behaviour cannot be compared; `.problem`
    ├── NotJudged                      a candidate was not compared in full; `.why`
    ├── UntestedOriginal               the tests fail on the original
    ├── BadSubPlans                    a sub-plan returned invalid sub-plans
    ├── NotApplied                     a result was not written to the tree or a branch
    ├── WorkFailed                     an attempt at a sub-plan failed; `.reason`
    ├── SubPlanFailed                  a sub-plan was given up; `.tries` says why
    ├── StepFailed                     a step of a workflow failed; `.result` is its output
    ├── RecordedError                  an error of an unknown class, read from a journal
    └── JournalError                   a file of a run cannot be read or written
        ├── JournalUnreadable          not a journal, or damaged
        │   └── JournalDamaged         a row is not what was written
        ├── JournalTooNew              written by a newer fanwise
        ├── JournalNotWritable         read-only, full, or locked by another program
        │   └── RunTakenOver           another process owns the run now
        ├── OutputNotWritable          stdout or an output file takes no more
        ├── RunNotFound (LookupError)  no run with that id
        ├── RunExists                  a new run was requested with an id that is taken
        ├── RunIsLive                  another process is executing the run
        └── SpecChanged                the run was started with a different spec

Errors carry fields, so that a program can act on them, and a `next_step`, so that a person can.
"""

from fanwise.errors.base import (
    FanwiseError,
    MissingExtra,
    RecordedError,
    UsageError,
    fields_of,
    full_name,
    one_line,
)
from fanwise.errors.cluster import (
    ClusterError,
    NotShippable,
    ProcessDied,
    WorkerLost,
    WorkersNotReady,
)
from fanwise.errors.fanning import (
    AttemptTimeout,
    BadCap,
    BadPredicate,
    BadVerdict,
    BudgetExceeded,
    DeadlinePassed,
    DuplicateKey,
    DuplicateName,
    ImpossibleNeeds,
    ItemsError,
    NestedCap,
    NotOk,
    NotStorable,
    RateLimited,
    SamplingFailed,
    UnknownCap,
    refused_by_budget,
)
from fanwise.errors.files import BadExpression, BadSpec, Problem, StepFailed
from fanwise.errors.journal import (
    BadRunId,
    JournalDamaged,
    JournalError,
    JournalNotWritable,
    JournalTooNew,
    JournalUnreadable,
    OutputNotWritable,
    RunExists,
    RunIsLive,
    RunNotFound,
    RunTakenOver,
    SpecChanged,
)
from fanwise.errors.models import (
    BadOutput,
    ModelError,
    ModelNotReady,
    ModelNotStarted,
    ModelOverloaded,
    ModelQuota,
    ModelRateLimited,
    ModelRefused,
    ModelRejected,
    ModelUnreachable,
    NotRecorded,
    PullFailed,
    ReplyTooLong,
    SchemaModeRefused,
    UnknownCost,
    UnknownModel,
    WrongDigest,
)
from fanwise.errors.optimize import (
    BadTarget,
    BenchFailed,
    CandidateUnfit,
    NoCandidates,
    NotComparable,
    NotJudged,
    UntestedOriginal,
)
from fanwise.errors.plan import BadSubPlans, SubPlanFailed, WorkFailed
from fanwise.errors.work import (
    CommandFailed,
    GitFailed,
    NoFreeWorkspace,
    NotApplied,
    NoWorkspaces,
    PatchFailed,
    SandboxUnavailable,
    WorkspaceError,
)

__all__ = [
    "AttemptTimeout",
    "BadCap",
    "BadExpression",
    "BadOutput",
    "BadPredicate",
    "BadRunId",
    "BadSpec",
    "BadSubPlans",
    "BadTarget",
    "BadVerdict",
    "BenchFailed",
    "BudgetExceeded",
    "CandidateUnfit",
    "ClusterError",
    "CommandFailed",
    "DeadlinePassed",
    "DuplicateKey",
    "DuplicateName",
    "FanwiseError",
    "GitFailed",
    "ImpossibleNeeds",
    "ItemsError",
    "JournalDamaged",
    "JournalError",
    "JournalNotWritable",
    "JournalTooNew",
    "JournalUnreadable",
    "MissingExtra",
    "ModelError",
    "ModelNotReady",
    "ModelNotStarted",
    "ModelOverloaded",
    "ModelQuota",
    "ModelRateLimited",
    "ModelRefused",
    "ModelRejected",
    "ModelUnreachable",
    "NestedCap",
    "NoCandidates",
    "NoFreeWorkspace",
    "NoWorkspaces",
    "NotApplied",
    "NotComparable",
    "NotJudged",
    "NotOk",
    "NotRecorded",
    "NotShippable",
    "NotStorable",
    "OutputNotWritable",
    "PatchFailed",
    "Problem",
    "ProcessDied",
    "PullFailed",
    "RateLimited",
    "RecordedError",
    "ReplyTooLong",
    "RunExists",
    "RunIsLive",
    "RunNotFound",
    "RunTakenOver",
    "SamplingFailed",
    "SandboxUnavailable",
    "SchemaModeRefused",
    "SpecChanged",
    "StepFailed",
    "SubPlanFailed",
    "UnknownCap",
    "UnknownCost",
    "UnknownModel",
    "UntestedOriginal",
    "UsageError",
    "WorkFailed",
    "WorkerLost",
    "WorkersNotReady",
    "WorkspaceError",
    "WrongDigest",
    "fields_of",
    "full_name",
    "one_line",
    "refused_by_budget",
]
