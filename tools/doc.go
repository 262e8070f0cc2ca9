// Package tools is what a script may be handed: functions of the host, each with
// the schemas of its arguments and results, and one policy that every call passes.
//
//	set, err := tools.NewSet(tools.Tool{
//		Name:    "crm.lookup", // in scripts: await tools.crm.lookup({id: 7})
//		Input:   json.RawMessage(`{"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}`),
//		Handler: func(ctx context.Context, call *tools.Call) (any, error) { … },
//	})
//	answer := set.Answer(ctx, call, policy)
//
// A [Set] is what one script is granted. [Set.Only] narrows it, and
// [Set.Declarations] describes it in TypeScript, to put before a model. The
// function of [Remote] has no handler: whoever drives the sandbox answers it.
// [Fetch] grants the script's global fetch.
//
// # An answer
//
// [Set.Answer] takes these steps, and the first that does not go well is the end:
//
//  1. The name is looked up. What is not in the set is not granted.
//  2. The arguments are checked: none, or one object, and then the schema Input.
//  3. The policy decides. No policy allows what was granted.
//  4. The handler runs, for at most [Tool.Timeout].
//  5. Its result is written as JSON, and checked for its length and against the
//     schema Output.
//
// # Security
//
// A set holds what was put into it and nothing else. Every doubt is a refusal: a
// policy that panics, that gives no decision in time, or that returns the zero
// [Decision], denies.
//
// What a failed call says reaches the script, and the script was not written by
// anybody who is trusted: of an error that a handler returns it sees nothing,
// unless it was made by [Failf] or [Denied]. What really happened is
// [Answer.Cause], for operators. Reasons and messages are one line without
// control characters, at most [MaxMessageBytes]. A message about arguments names
// the place and the rule, never the value.
//
// Results carry [Tool.Origin], unless [Tool.DangerouslyTrustResults] says that
// they say nothing a stranger wrote. Labels inside of results ([taint.Tainted])
// stay where they are: whoever hands the result to a script takes them out and
// adds their origins.
//
// Descriptions, and schemas of tools with a handler, are trusted as code is: they
// are written by whoever writes the tool. A schema that refers to another
// document, on the network or in a file, is refused. One of a tool with a handler
// may offer alternatives within alternatives, or want unique items that are
// arrays and objects: to check what a script made for it can take as good as
// forever. Then the call fails after [MaxCheckTime], but the goroutine goes on.
//
// The schemas of a [Remote] tool may be a stranger's, and so may the arguments: a
// check of them is always soon over. NewSet counts the most steps, of about 100 ns
// each, that a schema can make for one value, and refuses the schema
//
//   - where that is more than 10,000, or has no end: recursion is allowed where
//     each value is checked once, as in lists, trees and any JSON, and not where it
//     multiplies below alternatives, allOf, not, contains, patterns that overlap…
//   - where a schema refers to itself for the same value, or more than 32 nest that
//     look at the same value
//   - with $dynamicRef and $recursiveRef, the format "regex", and schemas of contents
//   - with patterns of more than 4000 parts, where a{100} has a hundred
//   - which is large or deep: see below
//
// What that makes for the arguments of a call is known before they are checked: a
// call that could take more than 2 million steps is refused with [CodeLimit], as
// are such results. For small objects and common schemas it is a thousandth.
//
// What is large, for any tool, is checked without a list of all that is wrong: the
// message then names no place.
//
// # Concurrency
//
// A Set does not change, and all its methods may be called from any number of
// goroutines. So may handlers and policies be: see [Tool.Handler].
//
// # Errors
//
// A call that goes wrong is an [Answer] with a [Failure], never a Go error and
// never a panic. NewSet and its neighbours return a [*GrantError] for a tool that
// cannot be granted; [Set.Matches] returns a [*MismatchError].
//
// # Limits
//
//	tools of a set         128      [MaxTools]
//	name                   128 B    [MaxNameBytes]
//	description            8 KiB    [MaxDescriptionBytes]
//	schema                 256 KiB  [MaxSchemaBytes]
//	schema, remote         64 KiB   [MaxRemoteSchemaBytes], 64 levels deep, 5000 values; 256 KiB for all, [MaxRemoteSchemasBytes]
//	arguments of a call    4 MiB    [MaxArgumentBytes]
//	time to check them     5 s      [MaxCheckTime]; the same for results of [Set.AnswerWith]
//	time of a handler      30 s     [DefaultTimeout]; at most an hour, [MaxTimeout]
//	time of a policy       30 s     [MaxPolicyTime]
//	result of a call       1 MiB    [DefaultResultBytes]; at most 64 MiB, [MaxResultBytes]
//	message, reason        512 B    [MaxMessageBytes]
//
// In arguments, results and schemas objects and arrays nest at most [MaxDepth]
// levels, and a number has at most [MaxNumberBytes] and an exponent of at most
// three digits. Patterns are those of package regexp, of at most 4 KiB. How often
// a tool is called is counted by whoever asks for answers: see [Tool.MaxCalls].
package tools
