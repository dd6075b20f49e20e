/// Runs several calls of one statement as a single statement, which takes them as an array.
///
/// The array's element type is composite; its attributes are the first parameters of a call. Each result row has the
/// columns of the original statement and `place`, the call's position in the array (`bigint`, from 1). Each call has at
/// most one row. A call without a row had no effect and then runs on its own.
package final class Gathering: Sendable {
    /// The statement that runs the whole array.
    let statement: Statement
    /// The composite type, qualified with its schema.
    let element: StaticString
    /// The attribute types. Never a domain: its object id differs between databases.
    let fields: [ColumnType]

    package init(_ sql: StaticString, of element: StaticString, _ fields: [ColumnType]) {
        statement = Statement(sql)
        self.element = element
        self.fields = fields
    }

    /// A call with a non-NULL value in a parameter beyond the attributes always runs on its own.
    func takes(_ parameters: EncodedParameters) -> Bool {
        var (index, hasMore) = (0, false)
        parameters.forEachRange { range in
            hasMore = hasMore || index >= fields.count && range != nil
            index += 1
        }
        return index >= fields.count && !hasMore
    }
}
