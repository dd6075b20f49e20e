import Testing

/// What apps see during a fault: no refusal, and no loss. All tests share one broker, database and IdP, so they take
/// turns.
@Suite(.serialized, .timeLimit(.minutes(5))) struct Faults {}
