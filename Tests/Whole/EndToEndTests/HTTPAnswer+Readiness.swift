import StrictCoding
import BrokerHarness

extension HTTPAnswer {
    /// The checks of `/readyz` that failed, each with a reason.
    var failedChecks: [String] {
        (json?.array("checks") ?? []).compactMap(\.object).filter { $0.string("status") == "failed" }
            .compactMap { $0.string("reason") == nil ? nil : $0.string("name") }
    }
}
