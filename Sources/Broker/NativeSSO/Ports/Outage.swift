/// Something that the broker needs is not there. Becomes a 503 with `Retry-After`, never a refusal: apps delete their
/// login on `invalid_grant`.
public struct Outage: Error, Sendable, CustomStringConvertible {
    public enum Component: String, Sendable, CaseIterable {
        case database, keyModule = "key_module", identityProvider = "identity_provider"
    }

    public let component: Component
    /// For the log: what was seen. Holds no secret and nothing the caller sent.
    public let detail: String

    public init(_ component: Component, _ detail: String) {
        self.component = component
        self.detail = detail
    }

    public var description: String { "\(component.rawValue): \(detail)" }
}

/// Why a port could not do its work.
public enum PortError: Error, Sendable {
    case outage(Outage)
    /// A defect: two parts of the broker, or the broker and its database, disagree. Becomes a 500.
    case broken(String)
}

extension PortError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .outage(let outage): outage.description
        case .broken(let what): what
        }
    }
}
