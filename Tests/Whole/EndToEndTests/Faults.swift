import Testing

/// What apps see when something breaks: never a refusal, and nothing lost. One broker, database and identity provider are
/// made for all of it, so the tests take turns.
@Suite(.serialized, .timeLimit(.minutes(5))) struct Faults {}
