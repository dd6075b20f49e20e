import StrictCoding

extension CaseIterable where Self: RawRepresentable, RawValue == String {
    /// The case whose raw value is these octets.
    ///
    /// `init(rawValue:)` compares as Unicode does, under which a KELVIN SIGN is a `K`.
    package init?(octets text: String) {
        guard let match = Self.allCases.first(where: { $0.rawValue.hasSameOctets(as: text) }) else { return nil }
        self = match
    }
}
