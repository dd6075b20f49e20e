import BrokerTesting
import NativeSSO
import RegistryConformance

/// A port of the broker that fails: with an outage or a defect.
struct PortFault: Sendable {
    /// What is away; `nil`: a defect.
    let outage: Outage.Component?
    /// Whether the registry was asked.
    let isAsked: Bool
    let happen: @Sendable (Broker) -> Void

    init(_ outage: Outage.Component?, isAsked: Bool = false, _ happen: @escaping @Sendable (Broker) -> Void) {
        (self.outage, self.isAsked, self.happen) = (outage, isAsked, happen)
    }

    func failure<Refusal>() -> Failure<Refusal> { outage.map { .outage($0) } ?? .broken }

    static let database = PortError.outage(Outage(.database, "away"))
    static let keyModule = PortError.outage(Outage(.keyModule, "away"))
    static let defect = PortError.broken("a defect")

    /// Of exchange and refresh alike. A known outage of the key module writes nothing, and costs no generation.
    static let ofKeysAndRegistry = [
        PortFault(.keyModule) { $0.keys.fail(with: keyModule) },
        PortFault(nil) { $0.keys.fail(with: defect) },
        PortFault(.keyModule) { $0.keys.suspendIssuing(with: keyModule) },
        PortFault(.keyModule) { $0.signer.fail(with: keyModule) },
        PortFault(.database, isAsked: true) { $0.registry.fail(with: database) },
        PortFault(nil, isAsked: true) { $0.registry.fail(with: defect) },
    ]
}
