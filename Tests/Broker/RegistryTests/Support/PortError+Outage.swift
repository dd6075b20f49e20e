import NativeSSO

extension PortError {
    /// `nil`: it is a defect.
    var asOutage: Outage? { if case .outage(let outage) = self { outage } else { nil } }
}
