"""Every error that fanwise raises, in one tree.

::

    FanwiseError
    ├── UsageError (ValueError)        what the caller gave cannot work; nothing more is started
    │   ├── BadCap                     a cap, rate or budget that is not a positive number
    │   ├── UnknownCap                 needs name a cap that nobody declared
    │   ├── ImpossibleNeeds            an item needs more of a cap than there is
    │   ├── NestedCap                  an item that holds a cap fans out into the same cap
    │   ├── DuplicateKey               two items of one fan-out have the same key
    │   ├── DuplicateName              two fan-outs of one run have the same name
    │   ├── BadPredicate               a predicate raised, or did not answer with a bool
    │   ├── BadVerdict                 a requirement answered with something that is no verdict
    │   ├── NotStorable                a value that the codec cannot write
    │   ├── BadRunId                   a run id that is not a plain name
    │   ├── BadSpec                    a file with problems, each with its line, column and field
    │   ├── BadExpression              `{{ … }}` that does not parse, or cannot be computed
    │   ├── UnknownModel               a model's name that says no known provider
    │   ├── ModelNotReady              a model whose key, extra or weights are missing; names them
    │   ├── NoFreeWorkspace            more work in workspaces at once than there are
    │   ├── UnknownCost                a budget of dollars, and a call whose price nobody knows
    │   ├── BadTarget                  a target of `optimize` that is no function of a Python file
    │   ├── NoCandidates               there is nothing for `optimize` to judge
    │   └── NotRecorded                a replay was asked for what it did not record
    ├── ItemsError                     the iterable of items raised; `.outcomes` has what ran
    ├── NotOk                          `require()` of a result that is not ok; `.result`
    ├── AttemptTimeout (TimeoutError)  an attempt took longer than its time-out
    ├── DeadlinePassed (TimeoutError)  the whole took longer than it was given
    ├── RateLimited                    the other side said "too many"; `.retry_after` in seconds
    ├── ModelError                     a language model gave no reply that can be used
    │   ├── ModelRateLimited           (also a RateLimited) worth a retry, after `.retry_after`
    │   ├── ModelOverloaded            it cannot serve now (5xx); worth a retry
    │   ├── ModelUnreachable           no connection, or it broke; worth a retry
    │   ├── ModelQuota                 the account is used up; no retry helps
    │   ├── ModelRejected              a bad request, a wrong key, no such model; no retry helps
    │   ├── ModelRefused               a content filter, or the model would not
    │   ├── ModelNotStarted            a local model's server did not come up; `.log` says why
    │   └── BadOutput                  the reply does not parse or does not match the schema
    ├── PullFailed                     weights did not come from the package index
    │   └── WrongDigest                they are not those that they should be; nothing is kept
    ├── BudgetExceeded                 the budget has no room for what was about to be spent
    ├── CommandFailed                  a child process did not exit with code 0
    ├── WorkspaceError                 a workspace could not be made, reset or used
    │   ├── GitFailed                  git said no; `.said` has its words
    │   ├── NoWorkspaces               not one of the slots of a pool could be made
    │   └── PatchFailed                a patch does not apply to the workspace
    ├── BenchFailed                    the original of a program cannot be timed
    ├── CandidateUnfit                 a candidate that cannot be put into a workspace; `.reason`
    ├── NotComparable                  what the target does cannot be compared, and why
    ├── UntestedOriginal               the tests do not judge the original, so they judge nothing
    ├── BadSubPlans                    a sub-plan returned what cannot be sub-plans of it
    ├── NotApplied                     what a run made was not written to the tree, or to a branch
    ├── WorkFailed                     a try at a sub-plan of a plan came to nothing; `.reason`
    ├── SubPlanFailed                  a sub-plan was given up; `.tries` says why, each time
    ├── StepFailed                     a step of a workflow failed; `.result` is its output
    ├── RecordedError                  one of an unknown class, read back from the journal
    └── JournalError                   what is on disk cannot be read or written
        ├── JournalUnreadable          not a journal, or damaged
        ├── JournalTooNew              written by a newer fanwise
        ├── JournalNotWritable         read-only, full, or locked by another program
        ├── OutputNotWritable          a file or stdout that output goes to takes no more
        ├── RunNotFound (LookupError)  no run with that id
        ├── RunExists                  a new run was asked for under an id that is taken
        ├── RunIsLive                  another process is executing the run
        └── SpecChanged                the run was started with another spec

Errors carry fields, so that a program can act on them, and a `next_step`, so that a person can.
"""

from fanwise.errors.base import (
    FanwiseError,
    RecordedError,
    UsageError,
    fields_of,
    full_name,
    one_line,
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
    UnknownCap,
    refused_by_budget,
)
from fanwise.errors.files import BadExpression, BadSpec, Problem, StepFailed
from fanwise.errors.journal import (
    BadRunId,
    JournalError,
    JournalNotWritable,
    JournalTooNew,
    JournalUnreadable,
    OutputNotWritable,
    RunExists,
    RunIsLive,
    RunNotFound,
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
    "CommandFailed",
    "DeadlinePassed",
    "DuplicateKey",
    "DuplicateName",
    "FanwiseError",
    "GitFailed",
    "ImpossibleNeeds",
    "ItemsError",
    "JournalError",
    "JournalNotWritable",
    "JournalTooNew",
    "JournalUnreadable",
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
    "NotOk",
    "NotRecorded",
    "NotStorable",
    "OutputNotWritable",
    "PatchFailed",
    "Problem",
    "PullFailed",
    "RateLimited",
    "RecordedError",
    "RunExists",
    "RunIsLive",
    "RunNotFound",
    "SpecChanged",
    "StepFailed",
    "SubPlanFailed",
    "UnknownCap",
    "UnknownCost",
    "UnknownModel",
    "UntestedOriginal",
    "UsageError",
    "WorkFailed",
    "WorkspaceError",
    "WrongDigest",
    "fields_of",
    "full_name",
    "one_line",
    "refused_by_budget",
]
