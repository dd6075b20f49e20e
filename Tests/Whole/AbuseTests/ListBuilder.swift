/// Writes a list as statements, so that each is checked by itself: as one expression of array literals, the tables here
/// take the type checker longer than anybody waits.
@resultBuilder enum ListBuilder {
    static func buildExpression<Element>(_ element: Element) -> [Element] { [element] }
    static func buildExpression<Element>(_ elements: [Element]) -> [Element] { elements }
    static func buildBlock<Element>(_ parts: [Element]...) -> [Element] { parts.flatMap { $0 } }
    static func buildArray<Element>(_ parts: [[Element]]) -> [Element] { parts.flatMap { $0 } }
}
