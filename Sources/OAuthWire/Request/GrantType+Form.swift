extension GrantType {
    /// The grant that a form asks for.
    public init(_ form: FormParameters) throws(ParameterDefect) {
        guard let text = form[Parameter.grantType] else { throw .grantTypeMissing }
        guard let grantType = GrantType(octets: text) else { throw .grantTypeUnknown }
        self = grantType
    }
}
