/// Whether the broker's knowledge is fresh enough for a final answer. What it cannot tell now is an outage.
package struct Certainty: Sendable {
    /// Asked before a request is judged. An outage while the clocks of the broker and the database differ: they decide on tokens and
    /// grants together.
    package let clocks: @Sendable () -> Outage?
    /// Asked before a refusal because of what the database holds. An outage if the database has confirmed no commit for a while:
    /// it may be a primary that was replaced without knowing it.
    package let database: @Sendable () -> Outage?

    package init(clocks: @escaping @Sendable () -> Outage?, database: @escaping @Sendable () -> Outage?) {
        self.clocks = clocks
        self.database = database
    }

    /// Throws while the clocks differ.
    package func check() throws(PortError) { if let outage = clocks() { throw .outage(outage) } }
}
