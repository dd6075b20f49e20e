/// A step did not go as expected.
struct StepFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Throws unless a step went as expected.
func expect(_ condition: Bool, _ expectation: @autoclosure () -> String) throws(StepFailure) {
    guard condition else { throw StepFailure(expectation()) }
}
